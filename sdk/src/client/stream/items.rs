//! The items of a workflow's stream, as a Rust stream.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt, stream::BoxStream};
use serde::de::DeserializeOwned;
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::common::v1::Payload;

use super::{WorkflowStreamError, reader::Reader};

/// The items of a workflow's stream: of a workflow with `#[agent_handlers]`, or of one in another
/// language that hosts a stream of an official SDK.
///
/// ```no_run
/// use serde_json::Value;
/// use temporal_agents::client::WorkflowStreamItems;
/// # async fn watch(
/// #     client: &temporalio_client::Client,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// let mut items = WorkflowStreamItems::new(client, "shipment-7").topics(["status"]);
/// while let Some(item) = items.next().await {
///     let item = item?;
///     println!("{}: {}", item.offset, item.json::<Value>()?);
/// }
/// # Ok(())
/// # }
/// ```
///
/// It follows the workflow when it continues as new. It ends when the workflow has ended, after the
/// items that were left. An offset that the workflow has truncated continues with the oldest item
/// that is left.
///
/// Each result of a poll is two events and a copy of the items in the workflow's history, and a
/// workflow admits 10 open updates: let one process subscribe for many readers. To follow the
/// agents of a workflow, [`RunEvents`](crate::client::RunEvents) reads without any of that.
pub struct WorkflowStreamItems(State);

enum State {
    /// Not polled yet.
    New(Option<Reader>),
    Reading(BoxStream<'static, Result<WorkflowStreamItem, WorkflowStreamError>>),
}

/// An item of a workflow's stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WorkflowStreamItem {
    /// Topic of the item.
    pub topic: String,
    /// Position in the stream, over all topics. To continue after the item, begin at the next
    /// offset.
    pub offset: u64,
    /// The item; an empty payload if the workflow has kept data that is not a payload.
    pub payload: Payload,
}

impl WorkflowStreamItem {
    /// Reads the item as JSON.
    ///
    /// # Errors
    /// If the payload is not JSON of this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.payload.data)
    }
}

impl WorkflowStreamItems {
    /// Creates a subscription to all topics, from the oldest item that the workflow keeps; sends
    /// nothing yet.
    pub fn new(client: &Client, workflow_id: impl Into<String>) -> Self {
        Self(State::New(Some(Reader::new(client.clone(), workflow_id.into()))))
    }

    /// Sets the topics. Has no effect once items are read.
    #[must_use]
    pub fn topics(mut self, topics: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let State::New(Some(reader)) = &mut self.0 {
            reader.input.topics = topics.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Sets the offset of the first item. Has no effect once items are read.
    #[must_use]
    pub fn from_offset(mut self, offset: u64) -> Self {
        if let State::New(Some(reader)) = &mut self.0 {
            reader.input.from_offset = offset;
        }
        self
    }

    /// Returns the next item, as soon as there is one; `None` after the last. No item is lost if
    /// the future is dropped.
    ///
    /// # Errors
    /// [`WorkflowStreamError`]; the stream has then ended.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn next(&mut self) -> Option<Result<WorkflowStreamItem, WorkflowStreamError>> {
        StreamExt::next(self).await
    }
}

impl Stream for WorkflowStreamItems {
    type Item = Result<WorkflowStreamItem, WorkflowStreamError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let State::New(reader) = &mut self.0 {
            let reader = reader.take();
            let read = futures::stream::unfold(reader, async |reader| {
                let mut reader = reader?;
                let item = reader.next().await.transpose()?;
                let rest = item.is_ok().then_some(reader);
                Some((item, rest))
            });
            self.0 = State::Reading(read.boxed());
        }
        match &mut self.0 {
            State::Reading(stream) => stream.poll_next_unpin(cx),
            State::New(_) => Poll::Ready(None),
        }
    }
}

impl std::fmt::Debug for WorkflowStreamItems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkflowStreamItems")
    }
}
