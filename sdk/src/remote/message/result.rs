//! The result of a call.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{Bounds, ServerData, absent};

use super::{field_issue::FieldIssue, lenient, result_bounds};

/// The one result of a call: a value, or an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResultMessage {
    /// Id of the call.
    pub tool_use_id: String,
    /// The value that the tool returned, which is any JSON.
    #[serde(
        default,
        rename = "result_json",
        deserialize_with = "lenient::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<Value>,
    /// The part of a whole that the value is, for a tool whose results are bounded.
    #[serde(default, with = "result_bounds", skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// Data for other readers than the model, which never gets it.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub server_data: Vec<ServerData>,
    /// The error of a call that has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RemoteError>,
}

/// The error of a call at a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemoteError {
    /// Code of the error, for example `invalid_arguments` or `execution_failed`.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub code: String,
    /// Message of the error.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub message: String,
    /// The arguments that do not fit, field by field.
    #[serde(default, deserialize_with = "absent::list_or_null", skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<FieldIssue>,
}

impl ToolResultMessage {
    /// Creates the result of a call that returned a value.
    pub fn new(tool_use_id: impl Into<String>, result: Value) -> Self {
        Self { tool_use_id: tool_use_id.into(), result: Some(result), ..Self::default() }
    }

    /// Creates the result of a call that failed.
    pub fn error(tool_use_id: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Self {
        let error = RemoteError { code: code.into(), message: message.into(), issues: Vec::new() };
        Self { tool_use_id: tool_use_id.into(), error: Some(error), ..Self::default() }
    }

    /// Adds data for other readers than the model.
    #[must_use]
    pub fn with_server_data(mut self, data: impl IntoIterator<Item = ServerData>) -> Self {
        self.server_data.extend(data);
        self
    }

    /// Adds the arguments that do not fit, to the error of a call that failed.
    #[must_use]
    pub fn with_issues(mut self, issues: impl IntoIterator<Item = FieldIssue>) -> Self {
        if let Some(error) = &mut self.error {
            error.issues.extend(issues);
        }
        self
    }
}
