//! What ends a session before its body does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use temporalio_client::ActivityHeartbeatResponse;
use temporalio_sdk::activities::ActivityError;
use tokio_util::sync::CancellationToken;

use super::error::{CheckpointError, failed};
use crate::tool::Failure;

/// Why a session ends before its body does.
#[derive(Debug)]
pub(super) enum Why {
    /// Somebody has asked for it.
    Cancelled,
    /// The worker shuts down; another attempt goes on.
    Stopped,
    /// Somebody has paused or reset the activity; another attempt goes on.
    Paused,
    /// A checkpoint cannot be written: what comes after it must not happen.
    Checkpoint(CheckpointError),
    /// Nobody can be asked for a decision.
    Approver {
        /// The tool whose call waits.
        tool: String,
        /// Why.
        source: Failure,
    },
}

/// The end of a session: cancels everything in it. The first that comes counts.
#[derive(Debug, Default)]
pub(super) struct End {
    why: Mutex<Option<Why>>,
    token: CancellationToken,
}

#[derive(Debug, thiserror::Error)]
#[error("the approver of the session gave no decision on a call of {tool:?}: {source}")]
struct NoDecision {
    tool: String,
    source: Failure,
}

#[derive(Debug, thiserror::Error)]
#[error("the activity was paused or reset; its next attempt goes on where this one stands")]
struct Paused;

impl End {
    fn why(&self) -> MutexGuard<'_, Option<Why>> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the session.
    pub(super) fn come(&self, why: Why) {
        self.why().get_or_insert(why);
        self.token.cancel();
    }

    /// Ends the session when the server says so.
    pub(super) fn heed(&self, response: &ActivityHeartbeatResponse) {
        if response.cancel_requested {
            self.come(Why::Cancelled);
        } else if response.activity_paused || response.activity_reset {
            self.come(Why::Paused);
        }
    }

    /// Cancelled when it comes.
    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Whether another attempt goes on with what this one leaves undone.
    pub(super) fn is_followed(&self) -> bool {
        self.why().as_ref().is_some_and(|why| !matches!(why, Why::Cancelled))
    }

    /// What the activity fails with, where it has come.
    pub(super) fn error(&self) -> Option<ActivityError> {
        Some(match self.why().take()? {
            // Of a worker that shuts down the SDK makes a failure that is retried.
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
