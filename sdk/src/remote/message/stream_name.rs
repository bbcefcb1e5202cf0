//! Names of streams, and of the events in them.

/// The event of a result stream whose payload is a [`ToolResultMessage`](super::ToolResultMessage).
pub const RESULT_EVENT: &str = "result";
/// The event of a result stream whose payload is a
/// [`ToolOutputDeltaMessage`](super::ToolOutputDeltaMessage).
pub const OUTPUT_DELTA_EVENT: &str = "output_delta";
/// The first event of a result stream, with the payload `{}`: the call has been published.
pub const INIT_EVENT: &str = "init";

/// Returns the name of the request stream of a toolset.
pub fn toolset_stream(toolset: &str) -> String {
    format!("toolset:{toolset}:requests")
}

/// Returns the name of the result stream of a call.
pub fn result_stream(tool_use_id: &str) -> String {
    format!("result:{tool_use_id}")
}
