//! The durable host: runs agents inside a Temporal workflow.
//!
//! [`Runner`] runs agents in an author's workflow, [`AgentInbox`] receives decisions for them,
//! [`WorkflowStream`] publishes to subscribers, [`AgentWorkflow`] and [`ChatWorkflow`] are
//! ready-made workflows, and [`McpHandle`] reads prompts and resources of MCP servers. Nothing here
//! does I/O, reads a clock or draws a random number except through the workflow context.

mod activity_backed_model;
mod context;
mod continuing;
mod effect;
pub(crate) mod headers;
mod host;
pub(crate) mod inbox;
mod limits;
mod mcp;
mod ready_made;
pub(crate) mod replay_journal;
mod runner;
pub(crate) mod stream;
pub(crate) mod watch_key;

pub use activity_backed_model::ActivityBackedModel;
pub use context::span;
pub use continuing::ContinueOptions;
pub use effect::failure::{EffectFailure, RunFailed};
#[cfg(feature = "worker")]
pub(crate) use effect::json::JsonPayload;
pub use effect::{
    model_activity_options::{ModelActivityOptions, ModelRetryPolicy},
    summary::{SummarizedCall, Summary},
};
pub use inbox::{AgentInbox, HasAgentInbox};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use inbox::{InboxContext, RunInbox, Waits};
pub use mcp::{McpHandle, McpHandleError};
pub use ready_made::{AgentSet, AgentWorkflow, ApprovalWorkflow, ChatWorkflow};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use ready_made::{AskedTools, Chat, Requested, message_input, rereads_thread};
pub use runner::Runner;
pub use stream::{WorkflowStream, WorkflowStreamPublishError};
