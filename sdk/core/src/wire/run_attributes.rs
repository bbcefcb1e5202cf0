//! The search attributes of workflows that run agents, by which lists of workflows are filtered:
//! the agent, the status, who is waited for.
//!
//! They are off by default: they cost an event when a run pauses, continues and ends, and the
//! server keeps their values in plain text. A run has them if its workflow was started with
//! [`STATUS_ATTRIBUTE`]. The start of a workflow never changes, so that neither a deploy nor
//! another setting of a worker changes the commands of a run that has begun; an execution that
//! continues as new inherits them.

/// Name of the agent, a keyword: at first the one that was started, later the one that has the
/// conversation.
pub const AGENT_ATTRIBUTE: &str = "AgentName";
/// Status of the latest run, a keyword: `running`, `waiting`, `completed`, `failed` or `cancelled`.
pub const STATUS_ATTRIBUTE: &str = "AgentStatus";
/// Those for whom the run waits, a list of keywords: `person`, `client`, or else `nobody`.
pub const WAITS_FOR_ATTRIBUTE: &str = "AgentWaitsFor";
/// The value of [`WAITS_FOR_ATTRIBUTE`] of a run that does not wait.
pub const NOBODY: &str = "nobody";

/// Maximum number of bytes of a value; the server refuses longer keywords.
const MAX_VALUE_BYTES: usize = 200;

/// Returns the name of an agent as the value of [`AGENT_ATTRIBUTE`].
pub fn agent_value(agent: &str) -> String {
    agent[..agent.floor_char_boundary(MAX_VALUE_BYTES)].to_owned()
}
