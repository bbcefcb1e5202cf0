//! Server-sent events from streams that are pulled.
//!
//! # Design
//! **Slow readers hold no memory.** A stream is polled only when the connection takes the next
//! event, and the follower of a workflow holds a bounded number of events for all readers: a reader
//! that is further behind reads the history itself.
//!
//! **Readers that take nothing are cut.** When a connection has not taken the next event for some
//! time, the stream is dropped with all that it reads. If the connection ever wants more, it gets
//! one last event with the cursor to come back with, as at the end of the service itself.

mod bounded;

use std::{marker::PhantomData, time::Duration};

use axum::{
    http::{HeaderName, HeaderValue},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use temporal_agents_core::wire::RunEvent;

use self::bounded::Bounded;
pub(super) use self::bounded::{Cut, LastEvent, StreamLimits};
use super::error::{ApiError, ErrorBody};

/// The interval between comments on a connection without events, so that proxies keep it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// An event for a connection.
pub(super) struct Sent {
    event: Event,
    /// Position in the stream, after which a reader comes back.
    cursor: Option<String>,
}

/// A response with events whose data are values of this type.
pub(super) struct EventStream<T> {
    response: Response,
    _data: PhantomData<fn() -> T>,
}

impl<T> IntoResponse for EventStream<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

impl<T> EventStream<T> {
    /// Returns a response with these events, which ends with `last` if it is cut.
    pub(super) fn new(
        limits: &StreamLimits,
        events: impl Stream<Item = Sent> + Send + 'static,
        last: LastEvent,
    ) -> Self {
        let bounded = Bounded::new(events.boxed(), limits.clone(), last);
        let events = bounded.map(Ok::<_, std::convert::Infallible>);
        let events = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive"));
        Self { response: events.into_response(), _data: PhantomData }
    }

    /// Adds a header.
    pub(super) fn with_header(mut self, (name, value): (HeaderName, &'static str)) -> Self {
        self.response.headers_mut().insert(name, HeaderValue::from_static(value));
        self
    }
}

/// Returns an event with this value as its data.
pub(super) fn data(value: &impl Serialize) -> Event {
    let json = serde_json::to_string(value).expect("messages of the protocols are JSON with string keys");
    Event::default().data(json)
}

/// Returns an event without a cursor.
pub(super) fn sent(event: Event) -> Sent {
    Sent { event, cursor: None }
}

/// Returns an event of a run, with its cursor as the id.
pub(super) fn run_event(event: &RunEvent) -> Sent {
    let sent = data(&event.clone().shown());
    match &event.cursor {
        Some(cursor) => Sent { event: sent.id(cursor), cursor: Some(cursor.clone()) },
        None => Sent { event: sent, cursor: None },
    }
}

/// Returns the last event of a stream that has failed.
pub(super) fn failed(error: &ApiError) -> Sent {
    sent(data(&ErrorBody::of(error)).event("error"))
}

/// The data of the event `cut`, the last one of a stream that the service ends.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CutBody {
    /// `slow_reader` or `stopping`.
    reason: &'static str,
    message: &'static str,
    /// Cursor of the event before, to come back with.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

/// Returns the last event of a stream that was cut.
pub(super) fn cut(cut: Cut, cursor: Option<String>) -> Event {
    data(&CutBody { reason: cut.code(), message: cut.message(), cursor }).event("cut")
}
