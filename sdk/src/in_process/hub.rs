//! The latest events of a task in this process, for any number of readers.
//!
//! The owner's writer fills it with facts that the store has and with deltas; in another process a
//! follower fills it with the facts that it reads in the store and with the deltas that a broker
//! brings. It holds a bounded number of events: a reader that is further behind reads the store
//! itself.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use temporal_agents_core::wire::RunEvent;
use tokio::sync::watch;

/// Number of events that are held.
const MAX_HELD_EVENTS: usize = 1_024;

/// An event, with the number of the latest fact up to it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) fact: i64,
    pub(super) event: Arc<RunEvent>,
}

/// The latest events.
#[derive(Debug)]
pub(super) struct Hub {
    log: Mutex<Log>,
    /// Changes with each event, and at the end.
    news: watch::Sender<u64>,
}

#[derive(Debug)]
struct Log {
    events: VecDeque<Held>,
    /// Number of the first event that is held.
    first: u64,
    /// Number of the latest fact before the first event that is held.
    before: i64,
    /// `true` if deltas between that fact and the first event are not held.
    is_cut: bool,
    has_ended: bool,
}

/// The next event of a reader.
pub(super) enum Next {
    Event(Held),
    /// The task has ended, or its owner in this process has left it.
    Ended,
    /// The hub no longer holds the event.
    NotHeld,
}

impl Hub {
    /// Creates a hub whose first event comes after the fact with this number.
    pub(super) fn new(after: i64) -> Self {
        let log = Log { events: VecDeque::new(), first: 0, before: after, is_cut: false, has_ended: false };
        Self { log: Mutex::new(log), news: watch::Sender::new(0) }
    }

    /// Adds an event.
    pub(super) fn push(&self, fact: i64, event: RunEvent) {
        let mut log = self.log();
        if log.events.len() == MAX_HELD_EVENTS
            && let Some(oldest) = log.events.pop_front()
        {
            log.first += 1;
            log.before = oldest.fact;
            log.is_cut = oldest.event.is_delta();
        }
        log.events.push_back(Held { fact, event: Arc::new(event) });
        drop(log);
        self.news.send_modify(|version| *version += 1);
    }

    /// Records that no event follows here.
    pub(super) fn end(&self) {
        self.log().has_ended = true;
        self.news.send_modify(|version| *version += 1);
    }

    /// Returns `true` if no event follows here.
    pub(super) fn has_ended(&self) -> bool {
        self.log().has_ended
    }

    /// Returns the number of the first event after this fact, and `true` if deltas before it are
    /// not held; `None` if the event is not known here.
    pub(super) fn number_after(&self, fact: i64) -> Option<(u64, bool)> {
        let log = self.log();
        if fact == log.before {
            return Some((log.first, log.is_cut));
        }
        // The events are in the order of their facts.
        let place = log.events.partition_point(|held| held.fact < fact);
        let is_held = log.events.get(place).is_some_and(|held| held.fact == fact);
        is_held.then(|| (log.first + place as u64 + 1, false))
    }

    /// Waits for the event of this number.
    pub(super) async fn event(&self, number: u64) -> Next {
        let mut news = self.news.subscribe();
        loop {
            news.mark_unchanged();
            {
                let log = self.log();
                let Some(place) = number.checked_sub(log.first) else { return Next::NotHeld };
                match usize::try_from(place).ok().and_then(|place| log.events.get(place)) {
                    Some(held) => return Next::Event(held.clone()),
                    None if log.has_ended => return Next::Ended,
                    None => {}
                }
            }
            if news.changed().await.is_err() {
                return Next::Ended;
            }
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
