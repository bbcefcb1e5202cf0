//! A stream of events that ends when its reader does not take them, or when the service stops.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError},
    task::{Context, Poll},
    time::Duration,
};

use axum::response::sse::Event;
use futures::{Stream, stream::BoxStream};
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::Sent;

/// The settings of all streams of a service.
#[derive(Clone, Debug)]
pub(in crate::http) struct StreamLimits {
    /// Time in which a connection must take the next event.
    pub(in crate::http) slow_reader: Duration,
    /// Cancelled when the service stops.
    pub(in crate::http) stopping: CancellationToken,
}

/// The reason why a stream ends before its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Cut {
    SlowReader,
    Stopping,
}

impl Cut {
    pub(in crate::http) fn code(self) -> &'static str {
        match self {
            Self::SlowReader => "slow_reader",
            Self::Stopping => "stopping",
        }
    }

    pub(in crate::http) fn message(self) -> &'static str {
        match self {
            Self::SlowReader => "the connection has not taken the next event in time; connect again",
            Self::Stopping => "the service stops; connect again",
        }
    }
}

/// Returns the last event of a stream that was cut, from the cursor of the event before.
pub(in crate::http) type LastEvent = fn(Cut, Option<String>) -> Event;

/// The events until the stream ends or is cut.
pub(super) struct Bounded {
    open: Arc<Mutex<Open>>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    last: Option<LastEvent>,
}

/// The part that the watchdog shares.
struct Open {
    /// `None` once the stream was cut: what it reads is then free.
    events: Option<BoxStream<'static, Sent>>,
    /// Cursor of the latest event that the connection has taken.
    cursor: Option<String>,
    /// The time at which the connection took the latest event, until it wants the next one.
    taken_at: Option<Instant>,
}

impl Bounded {
    pub(super) fn new(events: BoxStream<'static, Sent>, limits: StreamLimits, last: LastEvent) -> Self {
        let StreamLimits { slow_reader, stopping } = limits;
        let open = Arc::new(Mutex::new(Open { events: Some(events), cursor: None, taken_at: None }));
        tokio::spawn(watch(Arc::downgrade(&open), slow_reader));
        Self { open, stopping: Box::pin(stopping.cancelled_owned()), last: Some(last) }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts the stream when the connection takes nothing. A connection that is blocked does not poll
/// the stream, so the stream cannot notice it by itself.
async fn watch(open: std::sync::Weak<Mutex<Open>>, limit: Duration) {
    loop {
        sleep(limit / 4).await;
        let Some(open) = open.upgrade() else { return };
        let mut open = match open.try_lock() {
            Ok(open) => open,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The connection wants the next event at this moment.
            Err(TryLockError::WouldBlock) => continue,
        };
        if open.events.is_none() || open.taken_at.is_some_and(|taken| taken.elapsed() >= limit) {
            open.events = None;
            return;
        }
    }
}

impl Stream for Bounded {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let Some(last) = self.last else { return Poll::Ready(None) };
        let is_stopping = self.stopping.as_mut().poll(cx).is_ready();
        let mut open = self.open();
        open.taken_at = None;
        let cut = match &open.events {
            None => Some(Cut::SlowReader),
            Some(_) if is_stopping => Some(Cut::Stopping),
            Some(_) => None,
        };
        if let Some(cut) = cut {
            let event = last(cut, open.cursor.take());
            open.events = None;
            drop(open);
            self.last = None;
            return Poll::Ready(Some(event));
        }
        let polled = match &mut open.events {
            Some(events) => events.as_mut().poll_next(cx),
            None => Poll::Ready(None),
        };
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Sent { event, cursor })) => {
                open.cursor = cursor.or_else(|| open.cursor.take());
                open.taken_at = Some(Instant::now());
                Poll::Ready(Some(event))
            }
            Poll::Ready(None) => {
                open.events = None;
                drop(open);
                self.last = None;
                Poll::Ready(None)
            }
        }
    }
}

#[cfg(test)]
mod tests;
