//! Checks that the input of a call fits into a payload, before anything is scheduled.

use serde_json::{Map, Value};

use crate::{
    engine::RunError,
    tool::{CallInfo, ToolFailure, ToolFailureKind},
    wire::size::{Bytes, MOST_BYTES, encoded_len},
};

/// Checks the size of a call's input. Returns a failure if the arguments alone are too large: the
/// model may write shorter ones.
///
/// # Errors
/// [`RunError::Tool`] if the run context makes the input too large, which the model cannot change.
/// The error names the largest key.
pub(super) fn of_request(
    info: &CallInfo,
    arguments: &Map<String, Value>,
    context: &Map<String, Value>,
) -> Result<Option<ToolFailure>, RunError> {
    let len = |values: &Map<String, Value>| encoded_len(values).unwrap_or_default();
    let (of_arguments, of_context) = (len(arguments), len(context));
    let limit = Bytes(MOST_BYTES);
    if of_arguments > MOST_BYTES {
        let message =
            format!("the arguments of tool {:?} are {}, the limit is {limit}", info.tool, Bytes(of_arguments));
        return Ok(Some(ToolFailure::new(ToolFailureKind::Oversized, message)));
    }
    if of_arguments + of_context <= MOST_BYTES {
        return Ok(None);
    }
    let sizes = context.iter().map(|(key, value)| (encoded_len(value).unwrap_or_default(), key));
    let largest = sizes.max_by_key(|(bytes, _)| *bytes);
    let (bytes, key) = largest.map_or((0, ""), |(bytes, key)| (bytes, key.as_str()));
    let source = format!(
        "its input is {}, the limit is {limit}: key {key:?} of the run context alone is {}; store large values \
         outside of the run context, or remove this key from the context keys of the tool",
        Bytes(of_arguments + of_context),
        Bytes(bytes)
    );
    let (tool, agent, turn) = (info.tool.clone(), info.agent.clone(), info.turn);
    Err(RunError::Tool { tool, agent, turn, source: source.into() })
}
