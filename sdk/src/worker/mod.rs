//! The configuration of a worker: the plugin, the tool registry, the provider, and the codecs.
//!
//! [`AgentsPlugin`] is the entry point. [`ToolRegistry`] calls tools outside of a run, and
//! [`ToolProvider`] offers them to others.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod broker_deltas;
pub mod codec;
pub(crate) mod model_activity;
pub(crate) mod plugin;
mod run_watch;
mod tool_provider;
mod tool_registry;

pub use crate::{
    conversations::{ConversationCache, ConversationCacheStats},
    deltas::{
        DeltaBatch, DeltaChannel, DeltaSource, DeltaTransport, HeartbeatDeltas, InProcessDeltas, WorkflowStreamDeltas,
    },
    secret::Destination,
};
pub use broker_deltas::BrokerDeltas;
pub use plugin::{AgentsPlugin, AgentsWorker, AgentsWorkerError, InstallError, InstallIssue};
pub use tool_provider::ToolProvider;
pub use tool_registry::{Dispatch, DispatchError, DispatchResult, RegisterError, ToolRegistry};
