//! Handles for callers of agent workflows: messages, decisions, answers, the transcript of a run,
//! and the streams of workflows.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod agent_handle;
mod agent_runs;
mod chat_handle;
mod history;
mod run_events;
mod stream;
pub mod transcript;

pub use agent_handle::{AgentHandle, AgentHandleError};
#[cfg(feature = "http")]
pub(crate) use agent_runs::{AGENT_MEMO, ChatType, LABELS_MEMO, RunType, THREAD_MEMO};
pub use agent_runs::{AgentRuns, NewRun, StartRunError};
pub use chat_handle::ChatHandle;
pub use run_events::{RunEventStream, RunEvents, RunEventsError};
pub use stream::{WorkflowStreamError, WorkflowStreamItem, WorkflowStreamItems, WorkflowStreamPublisher};
