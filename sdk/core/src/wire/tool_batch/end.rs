//! The end of a call in a batch, from that of its activity: the same rule for the run and for the
//! readers of its history.

use super::{BatchedFailure, BatchedOutcome, TIMEOUT};
use crate::wire::{
    ToolOutput,
    failure::{MALFORMED_REQUEST, WIRE_VERSION_MISMATCH},
};

/// Failure type of an activity that its worker does not have.
const NOT_REGISTERED: &str = "NotFoundError";
/// Failure type of an activity whose result is larger than the server accepts.
const PAYLOADS_TOO_LARGE: &str = "PayloadsTooLarge";

/// The end of the activity of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// It has a reply.
    Completed,
    /// It has failed in a way that leaves the calls to the workflow.
    NotMade,
    /// It has exceeded a timeout.
    TimedOut,
    /// It has failed, and the calls with it.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// The end of a call in a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum CallInBatch<'o> {
    /// The call returned an output.
    Returned(&'o ToolOutput, &'o BatchedOutcome),
    /// The call failed.
    Failed(&'o BatchedFailure),
    /// The call was cancelled.
    Cancelled,
    /// The call is made on its own.
    NotMade,
    /// The failure of the activity is that of the call.
    AsActivity,
}

impl BatchEnd {
    /// Returns the end of an activity that has failed, by the type of its failure: `Timeout` after
    /// a timeout.
    pub fn of_failure(failure_type: Option<&str>) -> Self {
        match failure_type {
            Some(TIMEOUT) => Self::TimedOut,
            // No worker has made a call, or their outputs are too large together.
            Some(WIRE_VERSION_MISMATCH | MALFORMED_REQUEST | NOT_REGISTERED | PAYLOADS_TOO_LARGE) => Self::NotMade,
            _ => Self::Failed,
        }
    }

    /// Returns the end of a call, by the outcomes that the reply, or the failure of the activity,
    /// holds.
    pub fn of_call(self, outcomes: &[BatchedOutcome], index: u32) -> CallInBatch<'_> {
        if self == Self::Cancelled {
            return CallInBatch::Cancelled;
        }
        let outcome = outcomes.iter().find(|outcome| outcome.index == index);
        // After a timeout, such a failure is that of the attempt before.
        match outcome.filter(|outcome| self != Self::TimedOut || !outcome.is_retried()) {
            None if matches!(self, Self::Completed | Self::NotMade) => CallInBatch::NotMade,
            None => CallInBatch::AsActivity,
            Some(outcome @ BatchedOutcome { output: Some(output), .. }) => CallInBatch::Returned(output, outcome),
            Some(BatchedOutcome { failure: Some(failure), .. }) => CallInBatch::Failed(failure),
            Some(BatchedOutcome { is_cancelled: true, .. }) => CallInBatch::Cancelled,
            Some(_) => CallInBatch::NotMade,
        }
    }
}
