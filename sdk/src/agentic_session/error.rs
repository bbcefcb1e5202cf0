//! How sessions fail, and what their activity fails with.

use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::activities::{ActivityError, ActivityInfo};

use crate::{activity::model_failure, provider::ModelError};
use crate::{
    agent::GraphIssue,
    drive::RunFailure,
    engine::{ConversationLost, EffectError, RunError},
    tool::Failure,
    wire::{error_debug, failure::AGENTIC_SESSION_ERROR, size::Bytes},
};

/// Why a session could not keep its checkpoint, or go on from one.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// It is larger than a heartbeat may be.
    #[error(
        "after {turns} turns the session's checkpoint has {}, more than the {} that a heartbeat may carry; let the conversation be \
         shortened with RunConfig's compaction, or give the session a .checkpoint_store(..)", Bytes(*.bytes), Bytes(*.limit)
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
        /// Model calls until then.
        turns: u32,
    },
    /// It cannot be written as JSON.
    #[error("the session's checkpoint cannot be written as JSON: {source}")]
    Unwritable {
        /// Why.
        source: serde_json::Error,
    },
    /// The client's codec does not take it.
    #[error("the client's data converter does not take the session's checkpoint: {source}")]
    Unencodable {
        /// Why.
        source: EffectError,
    },
    /// The store of checkpoints has failed.
    #[error("the session's checkpoint could not be {verb} the checkpoint store: {source}")]
    Store {
        /// `written to`, `read from`.
        verb: &'static str,
        /// Why.
        source: Failure,
    },
    /// It is said to be under a key that this session has not given.
    #[error("checkpoint {key:?} is not one of this session")]
    Foreign {
        /// The key.
        key: String,
    },
    /// The server refuses heartbeats.
    #[error("the server refuses the session's checkpoint: {source}")]
    Refused {
        /// Why.
        source: EffectError,
    },
    /// It is not in the store any more.
    #[error(
        "checkpoint {key:?} is not in the checkpoint store any more; let checkpoints expire later than the activity's schedule-to-close timeout"
    )]
    Absent {
        /// Its key.
        key: String,
    },
    /// The server knows this attempt no more.
    #[error(
        "the server does not know this attempt of the activity any more: it has timed out, or its workflow is over"
    )]
    Gone,
    /// The activity was cancelled, or its worker shuts down.
    #[error("the activity was cancelled")]
    Cancelled,
}

error_debug!(enum CheckpointError {
    TooLarge { bytes, limit, turns },
    Unwritable { source },
    Unencodable { source },
    Store { verb, source },
    Foreign { key },
    Refused { source },
    Absent { key },
    Gone,
    Cancelled,
});

/// Why the body of a session failed: a run, or anything else that is an [`Error`](std::error::Error). `?` makes it of both.
pub struct AgenticSessionError(Box<Kind>);

#[derive(Debug)]
enum Kind {
    Error(Box<dyn std::error::Error + Send + Sync>),
    Activity(ActivityError),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for AgenticSessionError {
    fn from(error: E) -> Self {
        Self(Box::new(Kind::Error(Box::new(error))))
    }
}

/// What it holds, and then what that says.
impl std::fmt::Debug for AgenticSessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &*self.0 {
            Kind::Error(error) => write!(f, "AgenticSessionError: {error}"),
            Kind::Activity(error) => write!(f, "AgenticSessionError({error:?})"),
        }
    }
}

impl AgenticSessionError {
    /// Makes one of what is no [`Error`](std::error::Error) itself: a text, a boxed error, or an `anyhow::Error`, as in
    /// `.map_err(AgenticSessionError::other)?`.
    ///
    /// An `anyhow::Error` hides what it is made of, so that a failed run in it is tried again, also where that is in vain. Where there may be one, say
    /// `error.downcast::<RunFailure>().map_or_else(AgenticSessionError::other, AgenticSessionError::from)`.
    pub fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Box::new(Kind::Error(error.into())))
    }

    /// What the activity is to fail with, as it is.
    pub fn activity(error: ActivityError) -> Self {
        Self(Box::new(Kind::Activity(error)))
    }

    /// What the activity fails with.
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

/// A failed model call is the failure that the model activity would have; another attempt of the session goes on with that call. What the
/// session's own state leads to, no attempt can heal.
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
        // Another worker may have the state.
        RunError::Graph(graph) => {
            let is_of_worker = graph.issues.iter().all(|issue| matches!(issue, GraphIssue::MissingState { .. }));
            (is_of_worker, RunError::Graph(graph))
        }
        error => (false, error),
    };
    failed(error, is_passing)
}

/// The failure of a provider, with what a run says beside it.
fn model_error(source: EffectError) -> Result<ModelError, EffectError> {
    let source = match source.downcast::<ConversationLost>() {
        Ok(lost) => {
            let message = lost.to_string();
            return lost.source.downcast().map(|error| ModelError { message, ..*error });
        }
        Err(source) => source,
    };
    source.downcast().map(|error| *error)
}

/// A failure of the session's own.
pub(super) fn failed(error: impl std::error::Error + Send + Sync + 'static, is_passing: bool) -> ActivityError {
    let failure =
        ApplicationFailure::builder(error).type_name(AGENTIC_SESSION_ERROR.to_owned()).non_retryable(!is_passing);
    ActivityError::Application(Box::new(failure.build()))
}

impl CheckpointError {
    /// Whether another attempt may have no such error.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Store { .. } | Self::Gone | Self::Cancelled)
    }
}

/// The session has ended; its [`End`](super::end::End) says why.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended;
