//! The errors of a session, and the activity failures that they become.

use temporal_agents_core::{
    agent::GraphIssue,
    drive::RunFailure,
    engine::{ConversationLost, RunError},
    tool::BoxError,
    wire::{error_debug, failure::AGENTIC_SESSION_ERROR, size::Bytes},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityError, ActivityInfo};

use crate::{activity::model_failure, provider::ModelError};

/// The error of a session that cannot keep its checkpoint, or cannot continue from one.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The checkpoint is larger than a heartbeat may be.
    #[error(
        "after {turns} turns the session's checkpoint has {}, more than the {} that a heartbeat may carry; shorten \
         the conversation with RunConfig's compaction, or set a .checkpoint_store(..)", Bytes(*.bytes), Bytes(*.limit)
    )]
    TooLarge {
        /// Size of the checkpoint, in bytes of JSON.
        bytes: usize,
        /// Size limit, in bytes.
        limit: usize,
        /// Model calls that the session has made so far.
        turns: u32,
    },
    /// The checkpoint is larger than a heartbeat may be, and attempts in other languages must be
    /// able to read it, which cannot read a checkpoint store.
    #[error(
        "after {turns} turns the session's checkpoint, in the format of the ToolRegistry/AgenticSession proposal, has \
         {}, more than the {} that a heartbeat may carry; shorten the conversation with RunConfig's compaction, or set \
         .checkpoint_format(CheckpointFormat::Native) and a .checkpoint_store(..)", Bytes(*.bytes), Bytes(*.limit)
    )]
    TooLargeToHandOver {
        /// Size of the checkpoint, in bytes of JSON.
        bytes: usize,
        /// Size limit, in bytes.
        limit: usize,
        /// Model calls that the run has made so far in this attempt.
        turns: u32,
    },
    /// The checkpoint cannot be written as JSON.
    #[error("the session's checkpoint cannot be written as JSON: {source}")]
    NotSerializable {
        /// The error of the serializer.
        source: serde_json::Error,
    },
    /// The client's data converter or codec refuses the checkpoint.
    #[error("the client's data converter refuses the session's checkpoint: {source}")]
    ConverterRefused {
        /// The error of the data converter.
        source: BoxError,
    },
    /// The checkpoint store has failed.
    #[error("the session's checkpoint could not be {verb} the checkpoint store: {source}")]
    Store {
        /// Verb of the message: `written to` or `read from`.
        verb: &'static str,
        /// The error of the store.
        source: BoxError,
    },
    /// The heartbeat refers to a key that this session has not created.
    #[error("checkpoint {key:?} does not belong to this session")]
    Foreign {
        /// Key in the heartbeat.
        key: String,
    },
    /// The server refuses the heartbeats of the activity.
    #[error("the server refuses the session's checkpoint: {source}")]
    Refused {
        /// The status that the server returned.
        source: BoxError,
    },
    /// The checkpoint is no longer in the store.
    #[error(
        "checkpoint {key:?} is no longer in the checkpoint store; let checkpoints expire later than the activity's \
         schedule-to-close timeout"
    )]
    Absent {
        /// Key of the checkpoint.
        key: String,
    },
    /// The server no longer knows this attempt.
    #[error("the server no longer knows this attempt of the activity: it has timed out, or its workflow is closed")]
    Gone,
    /// The activity was cancelled, or its worker shuts down.
    #[error("the activity was cancelled")]
    Cancelled,
}

error_debug!(enum CheckpointError {
    TooLarge { bytes, limit, turns },
    TooLargeToHandOver { bytes, limit, turns },
    NotSerializable { source },
    ConverterRefused { source },
    Store { verb, source },
    Foreign { key },
    Refused { source },
    Absent { key },
    Gone,
    Cancelled,
});

/// The error of a session's body: a failed run, or any other [`Error`](std::error::Error). The `?`
/// operator converts from both.
pub struct AgenticSessionError(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Error(BoxError),
    Activity(ActivityError),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for AgenticSessionError {
    fn from(error: E) -> Self {
        Self(Box::new(Kind::Error(Box::new(error))))
    }
}

/// Writes the error's message, or the debug form of an [`ActivityError`].
impl std::fmt::Debug for AgenticSessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.0 {
            Kind::Error(error) => write!(f, "AgenticSessionError: {error}"),
            Kind::Activity(error) => write!(f, "AgenticSessionError({error:?})"),
        }
    }
}

impl AgenticSessionError {
    /// Creates an error from a value that does not implement [`Error`](std::error::Error) itself: a
    /// string, a boxed error, or an `anyhow::Error`, as in `.map_err(AgenticSessionError::other)?`.
    ///
    /// An `anyhow::Error` hides the error that it wraps. A failed run inside it is therefore always
    /// retried, even if the retry cannot succeed. If the error may be a failed run, convert the
    /// result of `error.downcast::<RunFailure>()`: with `from` if it is one, otherwise with
    /// `other`.
    pub fn other(error: impl Into<BoxError>) -> Self {
        Self(Box::new(Kind::Error(error.into())))
    }

    /// Creates an error that fails the activity with `error`, unchanged.
    pub fn activity(error: ActivityError) -> Self {
        Self(Box::new(Kind::Activity(error)))
    }

    /// Returns the failure of the activity.
    pub(super) fn into_activity_error(self, info: &ActivityInfo) -> ActivityError {
        match *self.0 {
            Kind::Activity(error) => error,
            Kind::Error(error) => match error.downcast::<RunFailure>() {
                Ok(failure) => of_run(failure.error, info),
                Err(error) => match error.downcast::<ApplicationFailure>() {
                    Ok(failure) => ActivityError::Application(failure),
                    Err(error) => ActivityError::Application(Box::new(ApplicationFailure::new(error))),
                },
            },
        }
    }
}

/// Returns the activity failure of a failed run. A failed model call becomes the failure that the
/// model activity would have, and another attempt of the session repeats that call. An error that
/// follows from the session's own state is not retryable, since no attempt can avoid it.
fn of_run(error: RunError, info: &ActivityInfo) -> ActivityError {
    let (is_passing, error) = match error {
        RunError::Cancelled { .. } => return ActivityError::cancelled(),
        RunError::Model { agent, turn, model, reason, source } => match model_error(source) {
            Ok(error) => {
                return ActivityError::Application(Box::new(model_failure::failure(info, &agent, &model, error)));
            }
            Err(source) => (false, RunError::Model { agent, turn, model, reason, source }),
        },
        error @ (RunError::Session { .. } | RunError::Mcp { .. }) => (true, error),
        // Another worker may have the missing state.
        RunError::Graph(graph) => {
            let is_of_worker = graph.issues.iter().all(|issue| matches!(issue, GraphIssue::MissingState { .. }));
            (is_of_worker, RunError::Graph(graph))
        }
        error => (false, error),
    };
    failed(error, is_passing)
}

/// Returns the failure of a provider, with the message of a lost conversation where the run reports
/// one.
fn model_error(source: BoxError) -> Result<ModelError, BoxError> {
    let source = match source.downcast::<ConversationLost>() {
        Ok(lost) => {
            let message = lost.to_string();
            return lost.source.downcast().map(|error| ModelError { message, ..*error });
        }
        Err(source) => source,
    };
    source.downcast().map(|error| *error)
}

/// Creates a failure of type `AgenticSessionError`, retryable if `is_passing`.
pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static, is_passing: bool) -> ActivityError {
    let failure =
        ApplicationFailure::builder(error).type_name(AGENTIC_SESSION_ERROR.to_owned()).non_retryable(!is_passing);
    ActivityError::Application(Box::new(failure.build()))
}

impl CheckpointError {
    /// `true` if another attempt may succeed.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Gone | Self::Cancelled)
    }
}

/// The session has ended; its [`End`](super::end::End) holds the reason.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended;
