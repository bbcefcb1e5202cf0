//! The result of a remote call as the output of a tool.

use serde_json::{Map, Value, json};

use super::message::{Bounds, FieldIssue, RemoteError, ToolResultMessage};
use crate::{
    tool::{
        Issue, OUTCOME_UNKNOWN, ToolError, ToolFailure, ToolFailureKind,
        schema::{self, MAX_ISSUES},
    },
    wire::{ToolOutput, remote_call::RemoteTarget},
};

/// Code of the error of a call that may have taken effect.
pub(crate) const OUTCOME_UNKNOWN_CODE: &str = "outcome_unknown";

/// Returns the output of a call with this result.
///
/// # Errors
/// The failure that the provider reports, or that of a result which breaks the rules of its tool.
pub(super) fn of_result(target: &RemoteTarget, message: ToolResultMessage) -> Result<ToolOutput, ToolError> {
    let ToolResultMessage { result, bounds, error, .. } = message;
    if let Some(error) = error {
        return Err(of_error(error));
    }
    let value = result.unwrap_or(Value::Null);
    if let Some(schema) = &target.result_schema {
        schema::validate(schema, &value).map_err(|issues| malformed(target, issues))?;
    }
    if !target.bounded {
        return Ok(text_of(value).into());
    }
    let Some(bounds) = bounds else { return Err(breaks_bounds(target, "its result does not state its bounds")) };
    if bounds.truncated && bounds.next_cursor.is_none() && bounds.refinement_hint.is_empty() {
        return Err(breaks_bounds(target, "its result is truncated, without a cursor or a hint"));
    }
    Ok(text_of(with_bounds(value, bounds)).into())
}

/// Returns the failure that a provider reports.
fn of_error(error: RemoteError) -> ToolError {
    let RemoteError { code, message, issues } = error;
    if code == OUTCOME_UNKNOWN_CODE {
        return ToolError::tell_model(OUTCOME_UNKNOWN);
    }
    let text = match (code.is_empty(), message.is_empty()) {
        (_, true) => format!("the call failed ({})", if code.is_empty() { "no code" } else { &code }),
        (true, false) => message,
        (false, false) => format!("{message} ({code})"),
    };
    let issues = bounded(issues);
    let failure = ToolFailure { issues, ..ToolFailure::new(ToolFailureKind::Told, text) };
    ToolError::tell_model(failure.issues_message())
}

/// Returns the issues of a provider, at most as many as a check of ours finds.
fn bounded(issues: Vec<FieldIssue>) -> Vec<Issue> {
    issues.into_iter().take(MAX_ISSUES).map(Issue::from).collect()
}

fn malformed(target: &RemoteTarget, issues: Vec<Issue>) -> ToolError {
    let failure = ToolFailure {
        issues,
        ..ToolFailure::new(
            ToolFailureKind::Told,
            format!("Tool '{}' has run, and its result does not fit its own schema", target.tool),
        )
    };
    ToolError::tell_model(failure.issues_message())
}

fn breaks_bounds(target: &RemoteTarget, reason: &str) -> ToolError {
    ToolError::tell_model(format!("Tool '{}' has run, but {reason}.", target.tool))
}

/// Adds the bounds to a result, in the form in which a model reads them.
fn with_bounds(value: Value, bounds: Bounds) -> Value {
    let Bounds { returned, total, truncated, next_cursor, refinement_hint } = bounds;
    let mut members = match value {
        Value::Object(members) => members,
        value => Map::from_iter([("result".to_owned(), value)]),
    };
    members.insert("returned".to_owned(), json!(returned));
    if let Some(total) = total {
        members.insert("total".to_owned(), json!(total));
    }
    members.insert("truncated".to_owned(), json!(truncated));
    if !refinement_hint.is_empty() {
        members.insert("refinement_hint".to_owned(), json!(refinement_hint));
    }
    if let Some(cursor) = next_cursor {
        members.insert("next_cursor".to_owned(), json!(cursor));
    }
    Value::Object(members)
}

/// Returns a string as it is, and any other value as compact JSON.
fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
