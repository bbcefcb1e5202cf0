//! The reasons that end a session before its body returns, and their activity failures.

use std::sync::{Mutex, MutexGuard, PoisonError};

use temporal_agents_core::tool::BoxError;
use temporalio_client::ActivityHeartbeatResponse;
use temporalio_sdk::activities::ActivityError;
use tokio_util::sync::CancellationToken;

use super::error::{CheckpointError, failed};

/// The reason why a session ends before its body returns.
#[derive(Debug)]
pub(super) enum Why {
    /// The cancellation of the activity was requested.
    Cancelled,
    /// The worker shuts down; another attempt continues.
    Stopped,
    /// The activity was paused or reset; another attempt continues.
    Paused,
    /// A checkpoint cannot be written: nothing that follows it may take effect.
    Checkpoint(CheckpointError),
    /// The approver has failed to return a decision.
    Approver {
        /// Name of the tool whose call waits for a decision.
        tool: String,
        /// The error of the approver.
        source: BoxError,
    },
}

/// The end of a session: cancels everything in it. Only the first reason counts.
#[derive(Debug, Default)]
pub(super) struct End {
    why: Mutex<Option<Why>>,
    token: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
#[error("the approver of the session returned no decision on a call of {tool:?}: {source}")]
struct NoDecision {
    tool: String,
    source: BoxError,
}

#[derive(Debug, thiserror::Error)]
#[error("the activity was paused or reset; its next attempt continues from the last checkpoint")]
struct Paused;

impl End {
    fn why(&self) -> MutexGuard<'_, Option<Why>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session for this reason, unless it has already ended.
    pub(super) fn come(&self, why: Why) {
        self.why().get_or_insert(why);
        self.token.cancel();
    }

    /// Ends the session if the server's response requests it.
    pub(super) fn heed(&self, response: &ActivityHeartbeatResponse) {
        if response.cancel_requested {
            self.come(Why::Cancelled);
        } else if response.activity_paused || response.activity_reset {
            self.come(Why::Paused);
        }
    }

    /// Returns the token that is cancelled when the session ends.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// `true` if the session has ended and another attempt continues its unfinished work.
    pub(super) fn is_continued_by_next_attempt(&self) -> bool {
        self.why().as_ref().is_some_and(|why| !matches!(why, Why::Cancelled))
    }

    /// Returns the failure of the activity and removes the reason, if the session has ended.
    pub(super) fn error(&self) -> Option<ActivityError> {
        Some(match self.why().take()? {
            // When the worker shuts down, the SDK turns this into a failure that is retried.
            Why::Cancelled | Why::Stopped => ActivityError::cancelled(),
            Why::Paused => failed(Paused, true),
            Why::Checkpoint(error) => {
                let may_pass = error.may_pass();
                failed(error, may_pass)
            }
            Why::Approver { tool, source } => failed(NoDecision { tool, source }, true),
        })
    }
}
