//! Parts of the messages of errors.

use std::{fmt, time::Duration};

use crate::tool::{BoxError, WorkflowToolError};

/// The duration of the attempts at the end of an error message: ` (tried for 300 s)`, or an empty
/// string for `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TriedFor(pub(crate) Option<Duration>);

impl fmt::Display for TriedFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |time| write!(f, " (tried for {} s)", time.as_secs()))
    }
}

/// Returns the advice for a tool without a worker, for an error message.
pub(super) fn registration_advice(source: &BoxError) -> String {
    match source.downcast_ref::<WorkflowToolError>() {
        Some(error) => format!("start a worker that has it: {error}"),
        None => "add the agent to AgentsPlugin::agents on that queue's worker".to_owned(),
    }
}

/// Returns the information of a guardrail's result, for an error message.
pub(super) fn said(info: &serde_json::Value) -> String {
    match info {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => format!(": {text}"),
        other => format!(": {other}"),
    }
}
