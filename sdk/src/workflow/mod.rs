//! The durable host: runs agents inside a Temporal workflow.
//!
//! [`Runner`] is the entry point for a workflow's author; the other modules map the loop's effects
//! to activities. Nothing here does I/O, reads a clock or draws a random number except through the
//! workflow context.

mod activity_backed_model;
mod context;
mod continuing;
mod details;
mod failure;
mod gate;
mod host;
mod inbox;
mod json;
mod local_gate;
mod mcp;
mod mcp_call;
mod mcp_session;
mod model_activity_options;
#[cfg(feature = "nexus")]
mod nexus;
mod open_updates;
mod ready_made;
pub(crate) mod replay_journal;
mod runner;
mod session_call;
mod size;
mod time;
mod tool_call;
mod until_deployed;

pub use activity_backed_model::ActivityBackedModel;
pub use continuing::ContinueOptions;
pub use failure::EffectFailure;
pub use inbox::{AgentInbox, HasAgentInbox};
pub use mcp::{McpHandle, McpHandleError};
pub use model_activity_options::{ModelActivityOptions, ModelRetryPolicy, Summary};
pub use ready_made::{AgentSet, AgentWorkflow, ApprovalWorkflow, ChatWorkflow};
pub use runner::Runner;

pub use crate::wire::MODEL_ACTIVITY;
