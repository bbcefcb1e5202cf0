//! The redaction of everything that a tool returns, before it is recorded.

use std::{
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use serde_json::Value;

use crate::wire::{ServerData, SideData, ToolOutput, tool_error::Issue};

/// A function that returns a string without what must not be recorded.
#[derive(Clone)]
pub struct Redaction(Arc<dyn Fn(&str) -> String + Send + Sync>);

/// Replaces a string for which the function itself panicked: neither the string nor the panic's
/// message, which may quote it, is recorded.
const PANICKED: &str = "[the redaction of this tool panicked]";

impl Redaction {
    /// Creates a redaction that calls this function with each string.
    pub fn new(redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(redact))
    }

    /// Returns the string, redacted.
    pub fn text(&self, text: &str) -> String {
        catch_unwind(AssertUnwindSafe(|| (self.0)(text))).unwrap_or_else(|_| PANICKED.to_owned())
    }

    /// Returns the output with each of its strings redacted.
    pub fn output(&self, output: ToolOutput) -> ToolOutput {
        match output {
            ToolOutput::Text(text) => ToolOutput::Text(self.text(&text)),
            ToolOutput::Content(parts) => ToolOutput::Content(parts.into_iter().map(|part| self.value(part)).collect()),
        }
    }

    /// Returns the data with each of its strings redacted.
    pub fn side_data(&self, data: SideData) -> SideData {
        let SideData { server_data, mut bounds } = data;
        let server_data = server_data
            .into_iter()
            .map(|ServerData { kind, audience, data }| ServerData { kind, audience, data: self.value(data) })
            .collect();
        if let Some(bounds) = &mut bounds {
            bounds.refinement_hint = self.text(&bounds.refinement_hint);
            bounds.next_cursor = bounds.next_cursor.take().map(|cursor| self.text(&cursor));
        }
        SideData { server_data, bounds }
    }

    /// Returns what does not fit with each of its strings redacted.
    pub(crate) fn issue(&self, issue: &Issue) -> Issue {
        let Issue { field, constraint, allowed, actual_type } = issue;
        Issue {
            field: self.text(field),
            constraint: self.text(constraint),
            allowed: self.value(allowed.clone()),
            actual_type: self.text(actual_type),
        }
    }

    /// Returns the value with each of its strings and numbers redacted. A number that the function
    /// changes becomes a string. The keys of objects are not changed: they are the shape of the
    /// value, which its readers rely on.
    pub fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(values) => Value::Array(values.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(members) => {
                Value::Object(members.into_iter().map(|(key, value)| (key, self.value(value))).collect())
            }
            Value::Number(number) => {
                let text = number.to_string();
                let redacted = self.text(&text);
                if redacted == text { Value::Number(number) } else { Value::String(redacted) }
            }
            other @ (Value::Null | Value::Bool(_)) => other,
        }
    }
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction(..)")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_redacted_and_keys_stay() {
        let redaction = Redaction::new(|text| text.replace("4000123", "[card]"));
        let value =
            json!({"4000123": {"card": 4_000_123, "cents": 12, "rate": 0.5}, "of": ["card 4000123", null, true]});
        let redacted =
            json!({"4000123": {"card": "[card]", "cents": 12, "rate": 0.5}, "of": ["card [card]", null, true]});
        assert_eq!(redaction.value(value), redacted);
    }
}
