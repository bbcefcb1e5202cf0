//! Why an activity, a child workflow or a timer gave nothing.

use std::time::Duration;

use crate::wire::error_debug;

/// Why what a workflow tool has awaited gave nothing. Through `?` it is a failure of the tool, whose text the model does not see.
///
/// `what` names it: `activity "charge"`, `child workflow "ship_order"`, `the timer`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowToolError {
    /// It was cancelled, with the call or by somebody else.
    #[error("{what} was cancelled")]
    Cancelled {
        /// What.
        what: String,
    },
    /// It did not end in time.
    #[error("{what} did not end in time")]
    TimedOut {
        /// What.
        what: String,
        /// The time that one attempt had, where that is what was exceeded.
        after: Option<Duration>,
    },
    /// No worker has it, or none has taken it in time.
    #[error("{what} finds no worker on task queue {task_queue:?}: {reason}")]
    NotRegistered {
        /// What.
        what: String,
        /// The task queue.
        task_queue: String,
        /// What came instead.
        reason: String,
    },
    /// It failed, after all its attempts.
    #[error("{what} failed: {message}")]
    Failed {
        /// What.
        what: String,
        /// The type of its application failure, where it has one.
        error_type: Option<String>,
        /// What went wrong, in its own words.
        message: String,
        /// The failure's first detail, where that is a text.
        detail: Option<String>,
    },
    /// A workflow with this id runs already.
    #[error("{what} cannot start: a workflow with id {id:?} runs already")]
    AlreadyRuns {
        /// What.
        what: String,
        /// The id.
        id: String,
    },
    /// It has ended, and what it gave is no JSON.
    #[error("what {what} returned cannot be read as JSON: {reason}")]
    Unreadable {
        /// What.
        what: String,
        /// Why.
        reason: String,
    },
    /// The server would refuse to start it, and the workflow would try for ever.
    #[error("{what} cannot be started: {reason}")]
    Refused {
        /// What.
        what: String,
        /// Why.
        reason: String,
    },
    /// There is no workflow here.
    #[error("{what} needs a workflow, and this run has none; run the agent with Runner in a workflow")]
    NoWorkflow {
        /// What.
        what: String,
    },
}

error_debug!(enum WorkflowToolError {
    Cancelled { what },
    TimedOut { what, after },
    NotRegistered { what, task_queue, reason },
    Failed { what, error_type, message, detail },
    AlreadyRuns { what, id },
    Unreadable { what, reason },
    Refused { what, reason },
    NoWorkflow { what },
});
