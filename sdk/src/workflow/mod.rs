//! The durable host: runs agents inside a Temporal workflow.
//!
//! [`Runner`] is what a workflow's author calls; everything else maps the loop's effects to activities. Nothing here
//! does I/O, reads a clock or draws a random number but through the workflow context.

mod activity_backed_model;
mod context;
mod continuing;
mod effect;
mod host;
mod inbox;
mod limits;
mod mcp;
mod ready_made;
pub(crate) mod replay_journal;
mod runner;

pub use activity_backed_model::ActivityBackedModel;
pub use continuing::ContinueOptions;
pub use effect::failure::EffectFailure;
pub use effect::model_activity_options::{ModelActivityOptions, ModelRetryPolicy, Summary};
pub use inbox::{AgentInbox, HasAgentInbox};
pub use mcp::{McpHandle, McpHandleError};
pub use ready_made::{AgentSet, AgentWorkflow, ApprovalWorkflow, ChatWorkflow};
pub use runner::Runner;
