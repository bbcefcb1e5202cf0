//! The status of a run: one enum for the state of a workflow, lists of runs, the API over HTTP, its
//! page and rows in databases.
//!
//! # Design
//! **Two words of messages 1.0 to 1.2 stay as they are.** [`AgentState`](super::AgentState), and
//! what a workflow carries to its next execution, write `idle` for [`RunStatus::Queued`] and
//! `finished` for [`RunStatus::Completed`]: a reader that was deployed before this enum knows these
//! two only, and would take a new word for a status of a later release. Readers accept both
//! spellings everywhere. All that is new (API, page, rows) writes the names of this enum.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// Status of a run. JSON: the name in snake case, for example `"timed_out"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunStatus {
    /// No worker has begun the run. In the state of a workflow also: a run was carried over and has
    /// not continued yet, or all runs were abandoned.
    #[default]
    #[serde(alias = "idle")]
    Queued,
    /// The run is in progress. A chat is in progress until its workflow ends.
    Running,
    /// At least one call waits for a decision, an answer or an output.
    Waiting,
    /// The run has ended with a final output.
    #[serde(alias = "finished")]
    Completed,
    /// The run has failed.
    Failed,
    /// The run was cancelled.
    Cancelled,
    /// The workflow was terminated.
    Terminated,
    /// The workflow has exceeded a timeout.
    TimedOut,
    /// The server has deleted the workflow, and nobody has seen its end.
    Gone,
    /// A status of a later release. In a list of runs also: the record of the run cannot be read, and it
    /// may wait.
    #[serde(other)]
    Other,
}

impl RunStatus {
    /// Returns `true` if nothing happens in the run any more.
    pub fn has_ended(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Waiting | Self::Other => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Terminated | Self::TimedOut | Self::Gone => true,
        }
    }
}

/// Writes a status with the words of messages 1.0 to 1.2.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is that of serde")]
pub(crate) fn in_first_words<S: Serializer>(status: &RunStatus, json: S) -> Result<S::Ok, S::Error> {
    match status {
        RunStatus::Queued => json.serialize_str("idle"),
        RunStatus::Completed => json.serialize_str("finished"),
        other => other.serialize(json),
    }
}

/// Writes the status of the last run of an inbox, if one has ended, as `in_first_words`.
pub fn ended_in_first_words<S: Serializer>(status: &Option<RunStatus>, json: S) -> Result<S::Ok, S::Error> {
    match status {
        Some(status) => in_first_words(status, json),
        None => json.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
