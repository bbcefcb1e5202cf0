//! The details that a tool gives of an error beside its message: a code, the arguments that do not
//! fit, an example.
//!
//! In the failure of an activity, its first detail is the message for the model, a string; with
//! more to say it is an object:
//! `{"tell_model": "..", "code": "out_of_range", "issues": [..], "example": {..}}`. Activities of
//! other libraries may write either form.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::absent::{is_default, list_or_null, or_default};

/// One violation of a schema, in a form that can be shown to a model or to a person.
///
/// It has the path and the keyword, never the value, which may be private.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Issue {
    /// Path to the value, steps joined with dots (`filter.tags.0`); empty for the root. A path
    /// beyond 300 bytes is truncated.
    pub field: String,
    /// The violated keyword: `type`, `required`, `enum`, ...
    pub constraint: String,
    /// The allowed values: the value of the keyword; for a missing member and for a union a summary
    /// of the schemas that would fit; for an unknown member the known ones. A long list or string
    /// is truncated, and ends in `…`.
    #[serde(default)]
    pub allowed: Value,
    /// The JSON type of the value, where another one is allowed (`string`, `integer`, ...); empty if it
    /// is not known.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub actual_type: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, constraint, allowed, actual_type: _ } = self;
        let field = if field.is_empty() { "(root)" } else { field };
        match constraint.as_str() {
            "required" => write!(f, "{field}: missing, allowed: {allowed}"),
            "additionalProperties" => write!(f, "{field}: unknown, allowed: {allowed}"),
            _ => write!(f, "{field}: fails {constraint}, allowed: {allowed}"),
        }
    }
}

/// What an error says beside its message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolErrorDetails {
    /// A code for programs; empty = none.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub(crate) code: String,
    /// The arguments that do not fit.
    #[serde(default, deserialize_with = "list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub(crate) issues: Vec<Issue>,
    /// Arguments that would fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) example: Option<Value>,
}

/// The first detail of a tool's failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDetail {
    /// The message for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tell_model: Option<String>,
    /// `true` if the body refused the arguments before it ran; a reader that does not know this
    /// sees any other error.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) invalid_arguments: bool,
    /// The rest.
    #[serde(flatten)]
    pub(crate) details: ToolErrorDetails,
}

impl FailureDetail {
    /// Reads the first detail of any failure; a form that is not ours says nothing.
    pub fn read(detail: Option<Value>) -> Self {
        match detail {
            Some(Value::String(text)) => Self { tell_model: Some(text), ..Self::default() },
            Some(value @ Value::Object(_)) => serde_json::from_value(value).unwrap_or_default(),
            _ => Self::default(),
        }
    }

    /// Returns the detail as a failure has it; `None` if there is nothing to say.
    pub fn written(self) -> Option<Value> {
        if self.invalid_arguments || self.details != ToolErrorDetails::default() {
            return serde_json::to_value(self).ok();
        }
        self.tell_model.map(Value::String)
    }
}
