//! The events of a workflow's runs, read from its history: while it runs, or long after it has
//! ended, by any number of readers.
//!
//! A reader long-polls the history. It sends the workflow no update and no query, adds nothing to
//! its history, and costs no billable action. It follows continue-as-new, retries and resets, and
//! the workflow's children.
//!
//! ```no_run
//! use temporal_agents::{client::RunEvents, wire::EventKind};
//! # async fn watch(
//! #     client: &temporalio_client::Client,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let events = RunEvents::new(client);
//! let mut stream = events.watch("refund-7");
//! while let Some(event) = stream.next().await {
//!     let event = event?;
//!     match &event.kind {
//!         EventKind::Message { text, .. } => println!("{}: {text}", event.agent),
//!         EventKind::ToolCall { name, arguments, .. } => println!("calls {name}({arguments})"),
//!         _ => {}
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | file | content |
//! |---|---|
//! | `pages.rs` | the events of one execution, page by page, with retries |
//! | `poll_slots.rs` | how many histories are polled at the same time |
//! | `execution.rs` | the events of one execution, as facts and published deltas |
//! | `chat_messages.rs` | the messages of a chat, with the ids that it assigns |
//! | `chain.rs` | the executions of one workflow: continue-as-new, retries, resets |
//! | `merged.rs` | the workflow and its children, in one order |
//! | `cursor.rs` | the position in that order, as a string |
//! | `follower.rs` | one reader for many subscribers |
//! | `reading.rs` | one reader for a process that reads many workflows |
//! | `published.rs` | the deltas in the stream of the workflow |
//! | `attempts.rs` | the attempts that history does not hold yet |
//! | `delta_reader.rs`, `outside.rs` | the deltas that are taken outside of Temporal |
//! | `live.rs`, `live_poller.rs` | facts and deltas in one stream |
//! | `sessions.rs` | the facts of agentic sessions that are under way |
//!
//! # Design
//! **A follower for each workflow and process.** The first subscriber's reader serves the others: a
//! later one reads the history itself until it reaches an event that the follower still holds. The
//! follower holds the latest 1,024 events; a subscriber that is further behind reads the history
//! again.
//!
//! **A cursor names a place in history,** not a count of events: the execution, the id of the
//! history event, and the index among the facts of that event, for the workflow and for each child
//! that runs. A reader with a cursor reads the execution from its beginning, because a fact depends
//! on earlier events, and returns the facts after the cursor.

mod attempts;
mod chain;
mod chat_messages;
mod cursor;
mod delta_reader;
mod execution;
mod follower;
mod live;
mod live_poller;
mod merged;
mod outside;
mod pages;
mod poll_slots;
mod published;
#[cfg_attr(
    not(all(feature = "http", any(feature = "postgres", feature = "sqlite"))),
    allow(dead_code, reason = "only a service with a database uses all of it")
)]
mod reading;
mod sessions;

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
    task::{Context, Poll},
};

use futures::{Stream, StreamExt, stream::BoxStream};
#[cfg(feature = "http")]
use temporal_agents_core::wire::EventKind;
use temporal_agents_core::wire::{RunEvent, error_debug};
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::history::v1::{History, history_event::Attributes},
};

#[cfg(feature = "http")]
pub(crate) use self::chat_messages::ChatStart;
pub use self::delta_reader::{DeltaCall, DeltaReader};
#[cfg(all(feature = "http", any(feature = "postgres", feature = "sqlite")))]
pub(crate) use self::reading::is_within;
use self::{
    cursor::Cursor,
    execution::{Execution, ReadOutcome},
    follower::{Follower, subscribe},
    live::live,
    live_poller::LivePoller,
};
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) use self::{
    pages::described,
    reading::{ReadItem, cursor_before, execution_of, read_events},
};

/// Reads the events of workflows, for any process with a client of the server. Clones share their
/// followers.
#[derive(Clone)]
pub struct RunEvents {
    client: Client,
    followers: Arc<Mutex<Followers>>,
    pollers: Arc<Mutex<Pollers>>,
    /// Reads the deltas that are taken outside of Temporal.
    deltas: Option<Arc<dyn DeltaReader>>,
}

/// The pollers of workflows that have a live subscriber, by workflow id.
type Pollers = HashMap<String, Weak<LivePoller>>;

/// The followers of workflows that have a subscriber, by workflow id.
type Followers = HashMap<String, Weak<Follower>>;

/// The events of one workflow's runs, in order. It ends after the last event of a workflow that has
/// ended; until then it waits.
pub struct RunEventStream(BoxStream<'static, Result<RunEvent, RunEventsError>>);

/// The error of a stream of events. The stream ends with it. A server that is unavailable is not an
/// error: the reader tries again until it is available.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RunEventsError {
    /// There is no such workflow, the server has deleted its history, or the cursor is of another
    /// workflow.
    #[error(
        "there is no workflow {workflow_id:?}{} in namespace {namespace:?}; check the id and the namespace. A \
         workflow that has ended is deleted after the namespace's retention period",
        .run_id.as_deref().map(|run_id| format!(" with a run {run_id:?}")).unwrap_or_default()
    )]
    NotFound {
        /// Id of the workflow.
        workflow_id: String,
        /// Id of the execution, if one was requested.
        run_id: Option<String>,
        /// Namespace of the client.
        namespace: String,
    },
    /// The string does not have the form of a cursor.
    #[error("{cursor:?} is not a cursor: {reason}; pass a cursor of an event of the same workflow, unchanged")]
    Cursor {
        /// The string.
        cursor: String,
        /// Description of the problem.
        reason: &'static str,
    },
    /// The server has refused the request.
    #[error("the history of workflow {workflow_id:?} cannot be read: {source}")]
    Server {
        /// Id of the workflow.
        workflow_id: String,
        /// The server's status.
        source: Box<tonic::Status>,
    },
}

error_debug!(enum RunEventsError {
    NotFound { workflow_id, run_id, namespace },
    Cursor { cursor, reason },
    Server { workflow_id, source },
});

impl RunEvents {
    /// Creates a reader; sends nothing yet. The client's data converter decodes the payloads. With
    /// a client that lacks the codec of the workers, events whose content it cannot decode are
    /// marked [`is_opaque`](RunEvent::is_opaque).
    pub fn new(client: &Client) -> Self {
        Self { client: client.clone(), followers: Arc::default(), pollers: Arc::default(), deltas: None }
    }

    /// Returns the facts of the workflow with this id, from the beginning of its first execution.
    ///
    /// # Errors
    /// The first item of the stream is [`RunEventsError::NotFound`] if there is no such workflow.
    pub fn watch(&self, workflow_id: impl Into<String>) -> RunEventStream {
        self.stream(workflow_id.into(), None).without_deltas()
    }

    /// Returns the events of the workflow after the one with this cursor
    /// ([`RunEvent::cursor`]), which any process may have read.
    ///
    /// # Errors
    /// The first item of the stream is [`RunEventsError::Cursor`] for a string that is not a
    /// cursor, and [`RunEventsError::NotFound`] for one of another workflow.
    pub fn watch_from(&self, workflow_id: impl Into<String>, cursor: impl Into<String>) -> RunEventStream {
        self.stream(workflow_id.into(), Some(cursor.into())).without_deltas()
    }

    /// Returns the facts of the workflow as [`watch`](Self::watch) does, and between them the
    /// deltas of its calls that are under way: attempts and their failures, and what the workers
    /// send with [`HeartbeatDeltas`](crate::worker::HeartbeatDeltas),
    /// [`WorkflowStreamDeltas`](crate::worker::WorkflowStreamDeltas), or the transport of
    /// [`deltas`](Self::deltas). Of child workflows, only those in their streams are included.
    ///
    /// The deltas of an agentic session ([`AgenticSessionOptions::deltas`][deltas]) are included.
    /// Its facts are not events of the workflow: call [`session_facts`](Self::session_facts) for
    /// them. Its deltas have the cursor of the latest event of the workflow, and none before the
    /// first one. A reader that has read facts, and knows of no open call, does not notice a
    /// session that begins later until the next fact.
    ///
    /// [deltas]: crate::agentic_session::AgenticSessionOptions::deltas
    ///
    /// A delta from the workflow's stream has a cursor of its own, others have that of the event
    /// before. From a stream, a reader that begins later also receives the deltas of calls that
    /// have ended, before their facts. The beginning of an attempt (`attempt_delta`) replaces all
    /// deltas of the call before it; the facts of the answer replace all deltas of the call. After
    /// them no delta of the call follows. A reader that misses a part of a call's deltas receives
    /// no later ones of that attempt.
    ///
    /// While a call is under way, the server is requested to describe the workflow, once for all
    /// readers of a process: 20 times a second while heartbeats stream, up to 100 times a second in
    /// the first moments of a model call, and less often otherwise. This is no billable action.
    ///
    /// # Errors
    /// As [`watch`](Self::watch).
    pub fn watch_live(&self, workflow_id: impl Into<String>) -> RunEventStream {
        let workflow_id = workflow_id.into();
        let events = self.stream(workflow_id.clone(), None);
        RunEventStream(live(self.clone(), workflow_id, None, events).boxed())
    }

    /// Returns the events as [`watch_live`](Self::watch_live) does, after the event with this
    /// cursor.
    ///
    /// # Errors
    /// As [`watch_from`](Self::watch_from).
    pub fn watch_live_from(&self, workflow_id: impl Into<String>, cursor: impl Into<String>) -> RunEventStream {
        let workflow_id = workflow_id.into();
        let cursor = cursor.into();
        let events = self.stream(workflow_id.clone(), Some(cursor.clone()));
        RunEventStream(live(self.clone(), workflow_id, Some(cursor), events).boxed())
    }

    /// Returns the events as [`watch_live`](Self::watch_live) does, from the beginning of this
    /// execution on.
    #[cfg(feature = "http")]
    pub(crate) fn watch_live_of_execution(&self, workflow_id: &str, execution: &str) -> RunEventStream {
        self.watch_live_from(workflow_id, Cursor::of_execution(execution).to_string())
    }

    /// Reads the beginning of an execution of a chat.
    ///
    /// # Errors
    /// As [`attempts`](Self::attempts).
    #[cfg(feature = "http")]
    pub(crate) async fn chat_start(&self, workflow_id: &str, execution: &str) -> Result<ChatStart, RunEventsError> {
        chat_messages::chat_start(&self.client, workflow_id, execution).await
    }

    /// Returns `true` if the chat that ended with this execution had accepted the message. Reads the
    /// history of this execution, and the ids that it carried from earlier ones.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses the request.
    #[cfg(feature = "http")]
    pub(crate) async fn has_received(
        &self,
        workflow_id: &str,
        execution: &str,
        message: &str,
    ) -> Result<bool, RunEventsError> {
        if self.chat_start(workflow_id, execution).await?.knows(message) {
            return Ok(true);
        }
        let mut events = self.watch_live_of_execution(workflow_id, execution);
        let mut has_received = false;
        while let Some(event) = events.next().await {
            if let EventKind::ChatMessageDelta { chat_message_id, is_refused, .. } = event?.kind
                && chat_message_id == message
            {
                has_received = !is_refused;
            }
        }
        Ok(has_received)
    }

    /// Reads the input with which an execution has begun, with one request; null if it is gone.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses the request.
    #[cfg(feature = "http")]
    pub(crate) async fn start_input(
        &self,
        workflow_id: &str,
        execution: &str,
    ) -> Result<serde_json::Value, RunEventsError> {
        let start = chat_messages::start(&self.client, workflow_id, execution).await?;
        Ok(start.map(|start| start.input).unwrap_or_default())
    }

    /// Returns the attempts at calls of the workflow that are under way or due, as deltas: the
    /// number of each attempt, the failure of the one before, and the time of the next. History
    /// holds an attempt only when it was the last.
    ///
    /// # Errors
    /// [`RunEventsError::NotFound`] if there is no such workflow, [`RunEventsError::Server`] if the
    /// server refuses the request.
    pub async fn attempts(&self, workflow_id: impl Into<String>) -> Result<Vec<RunEvent>, RunEventsError> {
        attempts::attempts(&self.client, &workflow_id.into()).await
    }

    /// Returns the facts of the workflow's agentic sessions that are under way, from the
    /// checkpoints in their heartbeats. Sessions of child workflows are not included.
    ///
    /// Each call returns all facts again, without cursors and with the same ids: skip the ids that
    /// are known. A fact is returned after the next checkpoint has been written. When the activity
    /// ends, its facts end with it, also those since the last call; to keep them, return
    /// [`AgenticSession::facts`](crate::agentic_session::AgenticSession::facts) from the activity.
    /// Checkpoints in a store, and those in the format of the proposal, contain none.
    ///
    /// # Errors
    /// [`RunEventsError::NotFound`] if there is no such workflow, [`RunEventsError::Server`] if the
    /// server refuses the request.
    pub async fn session_facts(&self, workflow_id: impl Into<String>) -> Result<Vec<RunEvent>, RunEventsError> {
        sessions::session_facts(&self.client, &workflow_id.into()).await
    }

    /// Returns the facts of one execution from its saved history, as far as it goes. They have no
    /// cursors. `converter` decodes the payloads: use the data converter of the workers, with their
    /// codec.
    pub async fn of_history(history: History, converter: &DataConverter) -> Vec<RunEvent> {
        let started = history.events.first().and_then(|event| match &event.attributes {
            Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
                Some(started.original_execution_run_id.clone())
            }
            _ => None,
        });
        let mut execution = Execution::new(converter, started.as_deref().unwrap_or_default());
        let mut facts = Vec::new();
        for event in history.events {
            if let ReadOutcome::WasReset { run_id, reason } = execution.read(event).await {
                execution.reset(&run_id, &reason);
            }
            facts.extend(execution.events().into_iter().filter(|event| !event.is_delta()));
        }
        facts
    }

    fn stream(&self, workflow_id: String, cursor: Option<String>) -> RunEventStream {
        let from = match cursor.as_deref().map(Cursor::of_client) {
            None => None,
            Some(Ok(cursor)) => Some(cursor),
            Some(Err(reason)) => {
                let error = RunEventsError::Cursor { cursor: cursor.unwrap_or_default(), reason };
                return RunEventStream(futures::stream::iter([Err(error)]).boxed());
            }
        };
        RunEventStream(subscribe(self.clone(), workflow_id, from).boxed())
    }

    /// Returns the poller of a workflow.
    fn poller(&self, workflow_id: &str) -> Arc<LivePoller> {
        let mut pollers = self.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        pollers.retain(|_, poller| poller.strong_count() > 0);
        if let Some(running) = pollers.get(workflow_id).and_then(Weak::upgrade) {
            return running;
        }
        let poller = LivePoller::start(&self.client, workflow_id, self.deltas.clone());
        pollers.insert(workflow_id.to_owned(), Arc::downgrade(&poller));
        poller
    }

    /// Returns the follower of a workflow, or creates one with `make` if none is still reading.
    fn follower(&self, workflow_id: &str, make: impl FnOnce() -> Arc<Follower>) -> Arc<Follower> {
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        followers.retain(|_, follower| follower.strong_count() > 0);
        // A new workflow may have the id of one that has ended, whose events a slow subscriber
        // still reads.
        let running = followers.get(workflow_id).and_then(Weak::upgrade).filter(|follower| !follower.has_ended());
        if let Some(follower) = running {
            return follower;
        }
        let follower = make();
        followers.insert(workflow_id.to_owned(), Arc::downgrade(&follower));
        follower
    }
}

impl RunEventStream {
    /// Returns the stream of these events.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn of(events: impl Stream<Item = Result<RunEvent, RunEventsError>> + Send + 'static) -> Self {
        Self(events.boxed())
    }

    /// Returns the next event, as soon as there is one; `None` after the last. No event is lost if
    /// the future is dropped.
    ///
    /// # Errors
    /// [`RunEventsError`]; the stream has then ended.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn next(&mut self) -> Option<Result<RunEvent, RunEventsError>> {
        self.0.next().await
    }

    /// Returns the stream without its deltas.
    fn without_deltas(self) -> Self {
        let is_fact = |event: &Result<RunEvent, _>| !event.as_ref().is_ok_and(RunEvent::is_delta);
        Self(self.0.filter(move |event| std::future::ready(is_fact(event))).boxed())
    }
}

impl Stream for RunEventStream {
    type Item = Result<RunEvent, RunEventsError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(cx)
    }
}

impl std::fmt::Debug for RunEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunEvents").field("namespace", &self.client.namespace()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RunEventStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunEventStream")
    }
}
