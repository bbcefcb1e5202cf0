//! The error of an activity, a child workflow or a timer that a workflow tool has awaited.

use std::time::Duration;

use serde_json::Value;

use crate::wire::error_debug;

/// The error of an operation that a workflow tool has awaited. Through `?` it becomes a failure of
/// the tool, whose message the model does not see.
///
/// `what` is the name of the operation: `activity "charge"`, `child workflow "ship_order"`, `the
/// timer`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowToolError {
    /// The operation was cancelled, with the call or from elsewhere.
    #[error("{what} was cancelled")]
    Cancelled {
        /// Name of the operation.
        what: String,
    },
    /// The operation timed out.
    #[error("{what} timed out")]
    TimedOut {
        /// Name of the operation.
        what: String,
        /// The timeout of one attempt, if that is the timeout that was exceeded.
        after: Option<Duration>,
    },
    /// No worker has the activity or workflow type, or no worker has started it in time.
    #[error("no worker for {what} on task queue {task_queue:?}: {reason}")]
    NotRegistered {
        /// Name of the operation.
        what: String,
        /// Name of the task queue.
        task_queue: String,
        /// The message of the failure, or the time for which no worker has started the operation.
        reason: String,
    },
    /// The operation failed, after all its attempts.
    #[error("{what} failed: {message}")]
    Failed {
        /// Name of the operation.
        what: String,
        /// The type of the application failure, if there is one.
        error_type: Option<String>,
        /// The message of the failure.
        message: String,
        /// The failure's first detail, if that is JSON.
        detail: Option<Box<Value>>,
    },
    /// A workflow with this id is already running.
    #[error("{what} cannot start: a workflow with id {id:?} is already running")]
    AlreadyRuns {
        /// Name of the operation.
        what: String,
        /// The workflow id.
        id: String,
    },
    /// The operation has completed, but its result is not JSON.
    #[error("the result of {what} cannot be read as JSON: {reason}")]
    Unreadable {
        /// Name of the operation.
        what: String,
        /// The error of the conversion.
        reason: String,
    },
    /// The operation was not started: the server would refuse it, and the workflow task would be
    /// retried for ever, or the function for the id panicked.
    #[error("{what} cannot be started: {reason}")]
    Refused {
        /// Name of the operation.
        what: String,
        /// The reason for which the operation was not started.
        reason: String,
    },
    /// The run has no workflow.
    #[error("{what} needs a workflow, and this run has none; run the agent with Runner in a workflow")]
    NoWorkflow {
        /// Name of the operation.
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
