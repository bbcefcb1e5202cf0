//! The effects of a run as commands of the workflow: activities for tools, MCP servers and stores,
//! their options, and their failures.

pub(super) mod details;
pub(super) mod failure;
pub(super) mod find_toolsets;
pub(super) mod json;
pub(super) mod kept_decisions;
pub(super) mod load_agent;
pub(super) mod mcp_call;
pub(super) mod mcp_session;
pub(super) mod model_activity_options;
pub(super) mod session_call;
pub(super) mod summary;
pub(super) mod time;
pub(super) mod tool_call;
pub(super) mod until_deployed;
