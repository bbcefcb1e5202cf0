//! The run, session and turn of a tool call, for tools outside of this library.

use serde::{Deserialize, Serialize};

use super::absent;

/// Header of activities and child workflows that a tool call schedules: a [`ToolCallMeta`] as JSON.
pub const TOOL_CALL_HEADER: &str = "temporal-agents-call";

/// The run, session and turn of a call. A provider can limit with it which data the call reaches,
/// and the model does not write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCallMeta {
    /// Id of the run: for a run in a workflow, that of the workflow.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub run_id: String,
    /// Id of the session, or an empty string.
    #[serde(default, deserialize_with = "absent::or_default")]
    pub session_id: String,
    /// Id of the turn.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub turn_id: String,
    /// Id of the call, the same at all attempts: its idempotency key, and the
    /// `tool_use_id` of a remote tool.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub tool_call_id: String,
    /// Id of the call of the agent that runs as a tool and made this call.
    #[serde(default, deserialize_with = "absent::or_default", skip_serializing_if = "String::is_empty")]
    pub parent_tool_call_id: String,
}
