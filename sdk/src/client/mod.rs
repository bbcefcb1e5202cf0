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
mod process_runs;
mod run_events;
mod run_mode;
mod runs;
mod stream;
pub mod transcript;

pub use agent_handle::{AgentHandle, AgentHandleError};
#[cfg(feature = "http")]
pub(crate) use agent_runs::{AGENT_MEMO, ChatType, LABELS_MEMO, RunType};
pub use agent_runs::{NewRun, StartRunError};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use agent_runs::{NotStarted, Request};
pub use chat_handle::ChatHandle;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use process_runs::Asked;
#[cfg(any(feature = "http", feature = "postgres", feature = "sqlite"))]
pub(crate) use process_runs::{ProcessRow, ProcessRunError, ProcessRuns};
pub use run_events::{RunEventStream, RunEvents, RunEventsError};
pub use run_mode::{RunMode, UnknownRunMode};
pub use runs::AgentRuns;
pub use stream::{WorkflowStreamError, WorkflowStreamItem, WorkflowStreamItems, WorkflowStreamPublisher};
