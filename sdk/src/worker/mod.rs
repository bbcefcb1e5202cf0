//! The worker half: the activities, and the configuration of a worker that runs them.
//!
//! [`AgentsPlugin`] is the entry point; [`Model`] and [`ModelProvider`] are the traits that a
//! provider implements. [`AgentHandle`] is for the callers of a workflow.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod agent_handle;
pub mod agentic_session;
mod agents_worker;
mod chat_handle;
pub mod codec;
mod conversations;
mod destination;
mod failed_attempt;
mod function_shape;
#[cfg(feature = "genai")]
pub mod genai;
mod heartbeat;
#[cfg(any(feature = "openai", feature = "genai", feature = "mcp"))]
mod http_client;
#[cfg(any(feature = "openai", feature = "genai"))]
mod http_provider;
mod inline_body;
mod inline_effects;
mod inline_host;
mod inline_mcp;
mod inline_model;
mod inline_runner;
mod inline_states;
mod kept_state;
#[cfg(feature = "mcp")]
pub mod mcp;
mod message;
mod model;
mod model_activity;
#[cfg(feature = "nexus")]
mod nexus_endpoint;
#[cfg(feature = "openai")]
pub mod openai;
mod plugin;
#[cfg(any(feature = "openai", feature = "genai"))]
mod provider_data;
mod providers;
mod record_activity;
mod registration;
mod run_threads;
mod session;
mod session_activity;
mod spill;
mod tool_activity;
mod tool_answer;
mod tool_registry;
mod tool_versions;
pub mod transcript;
mod without_secret;
mod worker_env;

pub use agent_handle::{AgentHandle, AgentHandleError};
pub use agentic_session::AgenticSession;
pub use agents_worker::{AgentsWorker, AgentsWorkerError};
pub use chat_handle::ChatHandle;
pub use conversations::{ConversationCache, ConversationCounters};
pub use destination::Destination;
#[cfg(feature = "genai")]
pub use genai::Genai;
pub use inline_runner::InlineRunner;
#[cfg(feature = "mcp")]
pub use mcp::McpTransport;
pub use model::{Model, ModelError, ModelProvider};
#[cfg(feature = "openai")]
pub use openai::OpenAi;
pub use plugin::{AgentsPlugin, InstallError, InstallIssue};
pub use session::Session;
pub use spill::{SpillStore, Spilled};
pub use tool_registry::{CallFailure, Dispatch, DispatchError, Dispatched, RegisterError, ToolRegistry};
pub use transcript::{Transcript, TranscriptError};
