//! The events of a stream so far, up to limits.
//!
//! The crate passes each event to a function, which it may call until the stream is dropped; the
//! call reads the result. Both hold the same events.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{sync::Notify, time::Instant};

use serde_json::{Map, Value};

use super::Reading;
use crate::provider::{
    ModelDeltas,
    anthropic::MessageEvents,
    http::{
        body::{MOST_BYTES, MOST_STREAM_BYTES},
        streaming,
    },
};

/// The events so far. Clones are the same events: the crate has one, and the call another.
#[derive(Clone)]
pub(super) struct Events {
    state: Arc<Mutex<State>>,
    ended: Arc<Notify>,
}

/// The events, joined, and the reason that no more are read.
pub(super) struct State {
    pub(super) reading: Box<dyn Reading>,
    deltas: ModelDeltas,
    /// Set once no more events are read.
    pub(super) end: Option<End>,
    /// The sum of the events, in bytes.
    pub(super) bytes: usize,
    /// Time of the latest event; `None` before the first one.
    latest: Option<Instant>,
}

/// The reason that no more events are read.
pub(super) enum End {
    /// The last event was read.
    Whole,
    /// An event is not one of the API.
    Invalid { data: String, what: &'static str },
    /// The events, or the part of them that is kept, exceed this limit in bytes.
    TooLarge(usize),
}

impl Reading for MessageEvents {
    fn read(&mut self, name: &str, data: &str, deltas: &ModelDeltas) -> Result<bool, &'static str> {
        self.read_event(name, data, deltas)
    }

    fn kept(&self) -> usize {
        streaming::Reading::kept(self)
    }

    fn body(self: Box<Self>) -> Option<Map<String, Value>> {
        streaming::Reading::body(*self)
    }
}

impl Events {
    pub(super) fn new(reading: Box<dyn Reading>, deltas: ModelDeltas) -> Self {
        let state = State { reading, deltas, end: None, bytes: 0, latest: None };
        Self { state: Arc::new(Mutex::new(state)), ended: Arc::default() }
    }

    /// Reads an event, and sends the deltas in it. Events after the end are ignored.
    pub(super) fn read(&self, name: &str, data: &str) {
        let mut state = self.state();
        let State { reading, deltas, end, bytes, latest } = &mut *state;
        *bytes = bytes.saturating_add(data.len());
        *latest = Some(Instant::now());
        // The crate also passes on comments, and a body that is not a stream, both without data.
        if end.is_some() || data.is_empty() {
            return;
        }
        *end = match reading.read(name, data, deltas) {
            Err(what) => Some(End::Invalid { data: data.to_owned(), what }),
            Ok(true) => Some(End::Whole),
            Ok(false) if reading.kept() > MOST_BYTES => Some(End::TooLarge(MOST_BYTES)),
            Ok(false) if *bytes > MOST_STREAM_BYTES => Some(End::TooLarge(MOST_STREAM_BYTES)),
            Ok(false) => None,
        };
        if end.is_some() {
            self.ended.notify_one();
        }
    }

    /// Returns the time of the latest event, also of a comment; `None` before the first one.
    pub(super) fn latest(&self) -> Option<Instant> {
        self.state().latest
    }

    /// Waits until no more events are read.
    pub(super) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// Returns `true` once no more events are read.
    pub(super) fn is_over(&self) -> bool {
        self.state().end.is_some()
    }

    /// Takes the events out; the crate, which holds a clone, reads no more.
    pub(super) fn into_state(self) -> State {
        let nothing = State {
            reading: Box::<MessageEvents>::default(),
            deltas: ModelDeltas::new(drop),
            end: None,
            bytes: 0,
            latest: None,
        };
        std::mem::replace(&mut *self.state(), nothing)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
