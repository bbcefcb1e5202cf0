//! The worker half: the activities, and the configuration of a worker that runs them.
//!
//! [`AgentsPlugin`] is the entry point. [`ToolRegistry`] calls tools outside of a run.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

pub mod codec;
pub(crate) mod model_activity;
pub(crate) mod plugin;
mod tool_registry;

pub use crate::{
    conversations::{ConversationCache, ConversationCacheStats},
    secret::Destination,
};
pub use plugin::{AgentsPlugin, AgentsWorker, AgentsWorkerError, InstallError, InstallIssue};
pub use tool_registry::{Dispatch, DispatchError, DispatchResult, RegisterError, ToolRegistry};
