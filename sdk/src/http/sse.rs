//! Server-sent events from streams that are pulled.
//!
//! # Design
//! **Slow readers hold no memory.** A stream is polled only when the connection takes the next
//! event, and the follower of a workflow holds a bounded number of events for all readers: a reader
//! that is further behind reads the history itself.

use std::{convert::Infallible, time::Duration};

use axum::response::sse::{Event, KeepAlive, Sse};
use futures::{Stream, StreamExt};
use serde::Serialize;
use serde_json::json;

use super::error::ApiError;
use crate::wire::RunEvent;

/// The interval between comments on a connection without events, so that proxies keep it open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Returns a response with these events.
pub(super) fn respond<S>(
    events: S,
) -> Sse<axum::response::sse::KeepAliveStream<impl Stream<Item = Result<Event, Infallible>>>>
where
    S: Stream<Item = Event> + Send + 'static,
{
    Sse::new(events.map(Ok)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE).text("keep-alive"))
}

/// Returns an event with this value as its data.
pub(super) fn data(value: &impl Serialize) -> Event {
    let json = serde_json::to_string(value).expect("messages of the protocols are JSON with string keys");
    Event::default().data(json)
}

/// Returns an event of a run, with its cursor as the id.
pub(super) fn run_event(event: &RunEvent) -> Event {
    let sent = data(event);
    match &event.cursor {
        Some(cursor) => sent.id(cursor),
        None => sent,
    }
}

/// Returns the last event of a stream that has failed.
pub(super) fn failed(error: &ApiError) -> Event {
    data(&json!({"error": {"code": error.code(), "message": error.message()}})).event("error")
}
