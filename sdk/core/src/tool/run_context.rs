//! The run context: an ordered JSON object that the author's functions share, never sent to a
//! model.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::wire::error_debug;

/// Values that the functions of a run share: instructions, tools, guardrails, hooks.
///
/// The values are JSON, so that they survive replay, continue-as-new and a pause. Inline tools may
/// set keys; activity tools get the keys that they name. Null and an absent member are the same:
/// changes are sent as JSON merge patches, which cannot distinguish them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunContext {
    values: Map<String, Value>,
    /// The earlier value of each key that was set, in the order in which the keys were first set.
    before: Vec<(String, Option<Value>)>,
}

/// The error of a value of the run context that is not of the requested type.
#[derive(thiserror::Error)]
#[error("run context key {key:?} is not a {expected}: {source}")]
#[non_exhaustive]
pub struct ContextError {
    /// Name of the key.
    pub key: String,
    /// The Rust type that was requested.
    pub expected: &'static str,
    /// The error of serde.
    pub source: serde_json::Error,
}

error_debug!(struct ContextError { key, expected, source });

impl RunContext {
    /// Creates a context with these values.
    pub fn new(values: Map<String, Value>) -> Self {
        Self { values, before: Vec::new() }
    }

    /// Returns the value of a key as a `T`; `None` if the key is not set.
    ///
    /// # Errors
    /// [`ContextError`] if the value is not a `T`.
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
    /// [`ContextError`] if the value cannot be written as JSON.
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
        // The patch is relative to the value before the first change, so later changes of the key
        // do not replace it.
        if !self.before.iter().any(|(known, _)| *known == key) {
            self.before.push((key, before));
        }
        Ok(())
    }

    /// Returns all values, in the order in which their keys were first set.
    pub fn values(&self) -> &Map<String, Value> {
        &self.values
    }

    /// Returns the values, consuming the context.
    pub fn into_values(self) -> Map<String, Value> {
        self.values
    }

    /// Returns the changes since the context was created, as a JSON merge patch (RFC 7396); `None`
    /// if no key was set.
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

/// Returns the values of those of these keys that are set.
pub fn named_keys(context: &Map<String, Value>, keys: &[String]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some((key.clone(), context.get(key)?.clone()))).collect()
}

/// Returns the merge patch that turns the object `before` into `after`; `None` if they are equal.
pub fn merge_patch_between(before: &Map<String, Value>, after: &Map<String, Value>) -> Option<Value> {
    if before == after {
        return None;
    }
    Some(difference(Some(&Value::Object(before.clone())), &Value::Object(after.clone())))
}

/// Returns the merge patch that turns `before` into `after`.
fn difference(before: Option<&Value>, after: &Value) -> Value {
    let (Some(Value::Object(before)), Value::Object(after)) = (before, after) else { return after.clone() };
    // In a merge patch, null removes a member.
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
