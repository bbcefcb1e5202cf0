//! A JSON schema in a definition: shared, because an agent sends the same schemas at every turn.

use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A JSON schema; JSON shape: the schema itself. Copies share it. The order of its members is kept,
/// since it reaches the model.
#[derive(Clone, Debug)]
pub struct Schema(Arc<Value>);

impl Schema {
    /// Returns `true` if both are copies of one schema. Equal schemas may differ in the order of
    /// their members.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<Value> for Schema {
    fn from(schema: Value) -> Self {
        Self(Arc::new(schema))
    }
}

impl Deref for Schema {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.is_shared_with(other) || self.0 == other.0
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}
