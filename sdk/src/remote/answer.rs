//! The result of a remote call as the output of a tool.

use serde_json::Value;
use temporal_agents_core::{
    tool::{
        Issue, OUTCOME_UNKNOWN, ToolError, checked_bounds, json_text,
        schema::{self, MAX_ISSUES},
        with_bounds,
    },
    wire::{SideData, ToolOutput, remote_call::RemoteTarget},
};

use super::message::{FieldIssue, RemoteError, ToolResultMessage};

/// Code of the error of a call that may have taken effect.
pub(crate) const OUTCOME_UNKNOWN_CODE: &str = "outcome_unknown";

/// Returns the output of a call with this result, and its data for other readers than the model.
///
/// # Errors
/// The failure that the provider reports, or that of a result which breaks the rules of its tool.
pub(super) fn of_result(
    target: &RemoteTarget,
    message: ToolResultMessage,
) -> Result<(ToolOutput, SideData), ToolError> {
    let ToolResultMessage { tool_use_id: _, result, bounds, server_data, error } = message;
    if let Some(error) = error {
        return Err(of_error(error));
    }
    let value = result.unwrap_or(Value::Null);
    if let Some(schema) = &target.result_schema {
        schema::validate(schema, &value).map_err(|issues| malformed(target, issues))?;
    }
    let value = if target.bounded { with_bounds(value, checked_bounds(&target.tool, bounds.as_ref())?) } else { value };
    Ok((json_text(&value).into(), SideData { server_data, bounds }))
}

/// Returns the failure that a provider reports.
fn of_error(error: RemoteError) -> ToolError {
    let RemoteError { code, message, issues } = error;
    if code == OUTCOME_UNKNOWN_CODE {
        return ToolError::tell_model(OUTCOME_UNKNOWN);
    }
    let message = if message.trim().is_empty() { "the call failed".to_owned() } else { message };
    ToolError::tell_model(message).code(code).issues(bounded(issues))
}

/// Returns the issues of a provider, at most as many as a check of ours finds.
fn bounded(issues: Vec<FieldIssue>) -> Vec<Issue> {
    issues.into_iter().take(MAX_ISSUES).map(Issue::from).collect()
}

fn malformed(target: &RemoteTarget, issues: Vec<Issue>) -> ToolError {
    let text = format!("Tool '{}' has run, and its result does not fit its own schema", target.tool);
    ToolError::tell_model(text).code("malformed_result").issues(issues)
}

#[cfg(test)]
mod tests;
