//! The run context: an ordered JSON object that author functions share, never sent to a model.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Values shared by the functions of a run: instructions, tools, guardrails, hooks.
///
/// JSON, so that it survives replay, continue-as-new and a pause. Inline tools may set keys; activity tools get the
/// keys they name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunContext {
    values: Map<String, Value>,
    changed: Vec<String>,
}

/// A value of the run context is not of the type asked for.
#[derive(Debug, thiserror::Error)]
#[error("run context key {key:?} is not a {expected}: {source}")]
pub struct ContextError {
    /// The key.
    pub key: String,
    /// The Rust type asked for.
    pub expected: &'static str,
    /// What serde says.
    pub source: serde_json::Error,
}

impl RunContext {
    /// A context with these values.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, changed: Vec::new() }
    }

    /// The value of a key as a `T`; `None` when the key is not set.
    ///
    /// # Errors
    /// [`ContextError`] when the value is no `T`.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, ContextError> {
        self.values.get(key).map(|value| T::deserialize(value)).transpose().map_err(|source| ContextError {
            key: key.to_owned(),
            expected: std::any::type_name::<T>(),
            source,
        })
    }

    /// Sets a key.
    ///
    /// # Errors
    /// [`ContextError`] when the value cannot be written as JSON.
    pub fn set<T: Serialize>(&mut self, key: impl Into<String>, value: T) -> Result<(), ContextError> {
        let key = key.into();
        let value = serde_json::to_value(value).map_err(|source| ContextError {
            key: key.clone(),
            expected: "JSON value",
            source,
        })?;
        if !self.changed.contains(&key) {
            self.changed.push(key.clone());
        }
        self.values.insert(key, value);
        Ok(())
    }

    /// All values, in the order in which their keys were first set.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// The values alone.
    pub fn into_values(self) -> Map<String, Value> {
        self.values
    }

    /// What was set since the context was made, as a JSON merge patch (RFC 7396); `None` when nothing was.
    pub fn patch(&self) -> Option<Value> {
        if self.changed.is_empty() {
            return None;
        }
        let patch = self.changed.iter().map(|key| (key.clone(), self.values[key].clone())).collect();
        Some(Value::Object(patch))
    }
}
