//! Starts runs, and handles for callers: messages, decisions, answers, the transcript of a run,
//! and the streams of workflows.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod agent_handle;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only a service sends messages that start a chat"))]
mod agent_runs;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only a service reads a reply by its message"))]
mod chat_handle;
mod connect;
mod diagnosis;
pub mod event_lines;
mod history;
mod new_run;
#[cfg_attr(
    not(all(feature = "http", any(feature = "postgres", feature = "sqlite"))),
    allow(dead_code, reason = "only a service with a database uses all of it")
)]
mod process_runs;
mod run_attributes;
mod run_events;
mod run_handle;
mod runs;
mod stream;
pub mod transcript;

pub use agent_handle::{AgentHandle, AgentHandleError};
#[cfg(any(feature = "http", feature = "postgres", feature = "sqlite"))]
pub(crate) use agent_runs::NotStarted;
pub use agent_runs::StartRunError;
#[cfg(feature = "http")]
pub(crate) use agent_runs::{ChatType, RunType, WorkflowRuns};
pub use chat_handle::ChatHandle;
pub use connect::{ConnectError, connect_from_env};
pub(crate) use diagnosis::QuietWatch;
#[cfg(feature = "http")]
pub(crate) use diagnosis::{Diagnosis, replay_differs};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use history::memo_value;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use new_run::Request;
#[cfg(feature = "http")]
pub(crate) use new_run::TypedAttribute;
pub(crate) use new_run::{AGENT_MEMO, TITLE_MEMO, title_of};
pub use new_run::{IdConflict, NewRun};
#[cfg(any(feature = "http", feature = "postgres", feature = "sqlite"))]
pub(crate) use new_run::{LABELS_MEMO, THREAD_MEMO};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use process_runs::Asked;
#[cfg(any(feature = "http", feature = "postgres", feature = "sqlite"))]
pub(crate) use process_runs::{ProcessRow, ProcessRunError, ProcessRuns, TaskList, TaskQuestions};
pub use run_attributes::{RunAttributesError, check_run_attributes, run_attributes};
#[cfg(all(feature = "http", any(feature = "postgres", feature = "sqlite")))]
pub(crate) use run_events::is_within;
pub use run_events::{DeltaCall, DeltaReader, RunEventStream, RunEvents, RunEventsError};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use run_events::{ReadItem, cursor_before, described, execution_of, read_events};
pub use run_handle::RunHandle;
pub use runs::AgentRuns;
pub use stream::{WorkflowStreamError, WorkflowStreamItem, WorkflowStreamItems, WorkflowStreamPublisher};
pub use temporal_agents_core::wire::UnknownRunMode;
