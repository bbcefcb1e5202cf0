//! Clients of workflow streams, of workflows in any language: a publisher and a subscriber.
//!
//! | file | content |
//! |---|---|
//! | `publisher.rs` | publishes items in batches |
//! | `batches.rs` | sends the batches, one at a time |
//! | `items.rs` | subscribes |
//! | `reader.rs` | polls of a subscriber, across executions |

mod batches;
mod items;
mod publisher;
mod reader;

use temporal_agents_core::wire::error_debug;
use temporalio_client::errors::{WorkflowInteractionError, WorkflowQueryError, WorkflowUpdateError};
use tonic::Code;

pub use self::{
    items::{WorkflowStreamItem, WorkflowStreamItems},
    publisher::WorkflowStreamPublisher,
};
use crate::workflow::stream::messages::MOST_ITEM_BYTES;

/// The failure of a publisher or a subscriber of a workflow's stream. After transient failures of
/// the server, a poll is sent again without a time limit, and a batch for a limited time.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum WorkflowStreamError {
    /// No workflow with this id exists.
    #[error("workflow {workflow_id:?} does not exist")]
    NotFound {
        /// The workflow id.
        workflow_id: String,
    },
    /// The workflow has refused the poll; most likely it has no stream.
    #[error("workflow {workflow_id:?} refused the poll: {message}; check that it hosts a stream (#[agent_handlers])")]
    Refused {
        /// The workflow id.
        workflow_id: String,
        /// The error message of the workflow.
        message: String,
    },
    /// A poll failed.
    #[error("the stream could not be polled: {0}")]
    Poll(#[source] WorkflowUpdateError),
    /// The rest of the stream of a workflow that has ended could not be read, for example because
    /// its history does not replay with the code of the worker.
    #[error("the stream could not be queried: {0}")]
    Query(#[source] WorkflowQueryError),
    /// The workflow could not be described.
    #[error("the workflow could not be described: {0}")]
    Describe(#[source] WorkflowInteractionError),
    /// An item cannot be written as JSON.
    #[error("the item for topic {topic:?} cannot be published: {source}")]
    Json {
        /// The topic.
        topic: String,
        /// The serialization error.
        source: serde_json::Error,
    },
    /// An item is too large.
    #[error(
        "the item for topic {topic:?} cannot be published: it has {bytes} bytes in base64, and may have \
         {MOST_ITEM_BYTES}; publish a reference to the content"
    )]
    TooLarge {
        /// The topic.
        topic: String,
        /// Bytes of topic and base64 data.
        bytes: usize,
    },
    /// Items are published faster than the server takes them, or it cannot be reached. The item was
    /// dropped.
    #[error(
        "the item for topic {topic:?} was dropped: {bytes} bytes already wait to be sent; await flush() before \
         publishing more, and check that the server can be reached"
    )]
    Full {
        /// The topic.
        topic: String,
        /// Bytes of topic and base64 data of the items that wait.
        bytes: usize,
    },
    /// Items could not be published, and were dropped.
    #[error("{items} items were not published: {source}")]
    NotPublished {
        /// Number of items.
        items: usize,
        /// The failure of the latest batch.
        source: WorkflowInteractionError,
    },
}

error_debug!(enum WorkflowStreamError {
    NotFound { workflow_id },
    Refused { workflow_id, message },
    Poll(source),
    Query(source),
    Describe(source),
    Json { topic, source },
    TooLarge { topic, bytes },
    Full { topic, bytes },
    NotPublished { items, source },
});

/// Returns `true` for a status after which a request may succeed if it is sent again.
fn is_transient(status: &tonic::Status) -> bool {
    match status.code() {
        // A message that is too large stays too large.
        Code::ResourceExhausted => !status.message().contains("larger than max"),
        code => matches!(
            code,
            Code::Aborted
                | Code::Cancelled
                | Code::DataLoss
                | Code::Internal
                | Code::OutOfRange
                | Code::Unavailable
                | Code::Unknown
        ),
    }
}
