//! The run context: an ordered JSON object that author functions share, never sent to a model.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::wire::error_debug;

/// Values shared by the functions of a run: instructions, tools, guardrails, hooks.
///
/// JSON, so that it survives replay, continue-as-new and a pause. Inline tools may set keys; activity tools get the
/// keys they name. Null and an absent member are the same: changes travel as JSON merge patches, which cannot tell them
/// apart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunContext {
    values: Map<String, Value>,
    /// What each key that was set held before, in the order of the first settings.
    before: Vec<(String, Option<Value>)>,
}

/// A value of the run context is not of the type asked for.
#[derive(thiserror::Error)]
#[error("run context key {key:?} is not a {expected}: {source}")]
pub struct ContextError {
    /// The key.
    pub key: String,
    /// The Rust type asked for.
    pub expected: &'static str,
    /// What serde says.
    pub source: serde_json::Error,
}

error_debug!(struct ContextError { key, expected, source });

impl RunContext {
    /// A context with these values.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, before: Vec::new() }
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

    /// Sets a key; null removes it.
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
        let before = match without_nulls(value) {
            Value::Null => self.values.shift_remove(&key),
            value => self.values.insert(key.clone(), value),
        };
        if !self.before.iter().any(|(known, _)| *known == key) {
            self.before.push((key, before));
        }
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
        if self.before.is_empty() {
            return None;
        }
        let change = |(key, before): &(String, Option<Value>)| {
            (key.clone(), difference(before.as_ref(), self.values.get(key).unwrap_or(&Value::Null)))
        };
        Some(Value::Object(self.before.iter().map(change).collect()))
    }
}

/// The values of these keys, where they are there.
pub(crate) fn named_keys(context: &Map<String, Value>, keys: &[String]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some((key.clone(), context.get(key)?.clone()))).collect()
}

/// The merge patch that makes one object of another; `None` when they are the same.
pub fn merge_patch_between(before: &Map<String, Value>, after: &Map<String, Value>) -> Option<Value> {
    if before == after {
        return None;
    }
    Some(difference(Some(&Value::Object(before.clone())), &Value::Object(after.clone())))
}

/// The merge patch that makes `after` of `before`.
fn difference(before: Option<&Value>, after: &Value) -> Value {
    let (Some(Value::Object(before)), Value::Object(after)) = (before, after) else { return after.clone() };
    let removed = before.keys().filter(|key| !after.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    let changed = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), difference(before.get(key), value)));
    Value::Object(removed.chain(changed).collect())
}

fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(key, value)| (key, without_nulls(value)))
                .collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests;
