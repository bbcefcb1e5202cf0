//! The stream of a workflow: items that its code, its activities and other programs publish, and
//! that subscribers in any language read while it runs.
//!
//! | file | content |
//! |---|---|
//! | this file | the author's handle |
//! | `log.rs` | items, offsets, publishers, limits |
//! | `polls.rs` | the polls that wait: how many, how long, how much they return |
//! | `handlers.rs` | the handlers of the contract, which `#[agent_handlers]` adds |
//!
//! # Design
//! **The contract is Temporal's Workflow Streams,** so that the official clients can subscribe and
//! publish. Its hosts reject polls while they drain, and fail polls below a truncation. A failed
//! update of the Rust SDK has no type, without which those clients give up. So no poll fails here:
//! when the workflow leaves its execution the polls return, and one below the oldest item begins
//! with that item.
//!
//! **The log is a part of the inbox,** because the inbox is what a workflow with handlers has as a
//! field and passes on when it continues as new. A stream that nobody uses leaves nothing in
//! history and nothing in the next execution's input.

mod handlers;
mod log;
pub(crate) mod messages;
mod polls;

use std::rc::Rc;

use serde::Serialize;
use temporal_agents_core::wire::{error_debug, failure::AGENTS_WORKFLOW_ERROR};
use temporalio_workflow::{WorkflowContext, WorkflowTermination, common::error::ApplicationFailure};

pub(super) use self::log::StreamLog;
use self::messages::{MAX_TOPIC_BYTES, MOST_ITEM_BYTES, encode_payload, json_payload};
pub use self::{
    handlers::{stream_admits_poll, stream_offset, stream_poll, stream_publish, stream_read},
    messages::PollResult,
};
use super::inbox::{HasAgentInbox, InboxContext};

/// The stream of a workflow with `#[agent_handlers]`, in the workflow's own code.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{agent_handlers, workflow::{AgentInbox, WorkflowStream}};
/// use temporalio_macros::{workflow, workflow_methods};
/// use temporalio_workflow::{WorkflowContext, WorkflowResult};
///
/// # fn main() {}
/// #[workflow]
/// #[derive(Default)]
/// pub struct Shipment {
///     inbox: AgentInbox, // holds the stream
/// }
///
/// #[agent_handlers]
/// #[workflow_methods]
/// impl Shipment {
///     #[run(name = "shipment")]
///     pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
///         let stream = WorkflowStream::new(ctx);
///         stream.publish("status", &json!({"state": "packed"}))?;
///         stream.publish("status", &json!({"state": "sent"}))?;
///         stream.close().await; // subscribers that wait receive the last items
///         Ok(())
///     }
/// }
/// ```
///
/// Other programs publish and read with `client::WorkflowStreamPublisher` and
/// `client::WorkflowStreamItems`, or with the clients of the official SDKs: see [the
/// guide](crate::guide::streams).
///
/// # History
/// An item of the workflow itself is not an event of its history: replay publishes it again. A
/// batch from outside is a signal, a poll of a subscriber an update.
#[derive(Clone)]
pub struct WorkflowStream(Rc<dyn InboxContext>);

impl WorkflowStream {
    /// Returns the stream of this workflow.
    ///
    /// From now on, polls of subscribers wait for the next item without a time limit, also while no
    /// run is active: call [`close`](Self::close) before the workflow waits for its handlers.
    pub fn new<W: HasAgentInbox + 'static>(ctx: &WorkflowContext<W>) -> Self {
        let stream = Self(Rc::new(ctx.clone()));
        stream.0.change(&mut |inbox| inbox.stream_mut().polls_mut().hold());
        stream
    }

    /// Publishes a value as JSON, and returns its offset.
    ///
    /// The stream keeps the latest 10,000 items and 4 MiB. When a workflow continues as new, the
    /// latest 256 KiB go with it.
    ///
    /// # Errors
    /// If the value cannot be written as JSON, is larger than 1.5 MB in base64 together with its
    /// topic, or if the topic is longer than 1,000 bytes. `?` fails the workflow; Temporal does not
    /// retry it.
    pub fn publish(
        &self,
        topic: impl Into<String>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<u64, WorkflowStreamPublishError> {
        let topic = topic.into();
        let data = match json_payload(value) {
            Ok(payload) => encode_payload(&payload),
            Err(source) => return Err(WorkflowStreamPublishError { topic, source }),
        };
        let refused = if topic.len() > MAX_TOPIC_BYTES {
            Some(format!("its topic has {} bytes, and may have {MAX_TOPIC_BYTES}", topic.len()))
        } else if topic.len() + data.len() > MOST_ITEM_BYTES {
            Some(format!("it has {} bytes in base64, and may have {MOST_ITEM_BYTES}", topic.len() + data.len()))
        } else {
            None
        };
        if let Some(refused) = refused {
            return Err(WorkflowStreamPublishError { topic, source: serde::ser::Error::custom(refused) });
        }
        let mut item = Some((topic, data));
        let mut offset = 0;
        self.0.change(&mut |inbox| {
            if let Some((topic, data)) = item.take() {
                offset = inbox.stream_mut().push(topic, data);
            }
        });
        Ok(offset)
    }

    /// Returns the offset of the next item, which is the number of items published so far, those of
    /// previous executions included.
    pub fn offset(&self) -> u64 {
        let mut offset = 0;
        self.0.look(&mut |inbox| offset = inbox.stream().end());
        offset
    }

    /// Drops the items before this offset. A subscriber that has not read them continues with the
    /// oldest item that is left.
    pub fn truncate(&self, up_to: u64) {
        self.0.change(&mut |inbox| inbox.stream_mut().truncate(up_to));
    }

    /// Sends the subscribers that wait the items that are left, and returns when all have their
    /// result, which is at once if none waits. Later polls, and those that arrive at the same time,
    /// wait for 3 s at most.
    ///
    /// Call it before the workflow ends, waits for its handlers, or continues as new by itself: a
    /// poll that waits is a handler at work. The runner and the ready-made workflows do so
    /// themselves.
    pub async fn close(&self) {
        let mut is_idle = true;
        self.0.look(&mut |inbox| is_idle = inbox.stream().polls().is_idle());
        self.0.change(&mut |inbox| inbox.stream_mut().polls_mut().drain());
        if !is_idle {
            self.0.stream_is_idle().await;
        }
    }
}

/// A value that was not published, because it cannot be written as JSON or is too large.
#[derive(thiserror::Error)]
#[error("the item for topic {topic:?} cannot be published: {source}")]
pub struct WorkflowStreamPublishError {
    topic: String,
    source: serde_json::Error,
}

error_debug!(struct WorkflowStreamPublishError { topic, source });

impl From<WorkflowStreamPublishError> for WorkflowTermination {
    fn from(error: WorkflowStreamPublishError) -> Self {
        let failure = ApplicationFailure::builder(error).type_name(AGENTS_WORKFLOW_ERROR.to_owned());
        failure.non_retryable(true).build().into()
    }
}

impl std::fmt::Debug for WorkflowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkflowStream").field("offset", &self.offset()).finish_non_exhaustive()
    }
}
