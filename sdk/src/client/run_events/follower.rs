//! One reader of a workflow's events for many subscribers in a process.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use futures::{Stream, stream::unfold};
use temporal_agents_core::wire::RunEvent;
use temporalio_client::Client;
use tokio::{sync::watch, task::AbortHandle};

use super::{RunEvents, RunEventsError, cursor::Cursor, merged::Merged};

/// Number of events that a follower holds.
const MAX_HELD_EVENTS: usize = 1_024;

/// A reader that runs as long as it has a subscriber.
pub(super) struct Follower {
    log: Mutex<Log>,
    /// Changes with each event, and at the end.
    news: watch::Sender<u64>,
    reader: Mutex<Option<AbortHandle>>,
}

/// The latest events of a workflow.
#[derive(Default)]
struct Log {
    events: VecDeque<Arc<RunEvent>>,
    /// Numbers of the events, counted from 0, by cursor.
    numbers: HashMap<String, u64>,
    /// Number of the first event that is held.
    first: u64,
    /// The cursor after which event 0 comes; `None` if it is the first of the workflow.
    start: Option<String>,
    end: Option<FollowerEnd>,
}

/// The end of a follower.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowerEnd {
    /// The workflow has ended.
    Complete,
    /// The reader has failed; each subscriber reads on to get its own error.
    Failed,
}

/// The place of a subscriber in the events.
enum Subscription {
    /// Nothing was read.
    Start(Option<Cursor>),
    /// The subscriber reads the history itself, until the follower holds the event after the one
    /// that it has read last.
    Alone(Box<Merged>, Option<Cursor>),
    /// The next event is the follower's event of this number; the cursor is that of the event
    /// before.
    With {
        number: u64,
        before: Option<Cursor>,
    },
    Ended,
}

/// Returns the events of a workflow after `from`.
pub(super) fn subscribe(
    events: RunEvents,
    workflow_id: String,
    from: Option<Cursor>,
) -> impl Stream<Item = Result<RunEvent, RunEventsError>> + Send {
    let client = events.client.clone();
    let state = (events, client, workflow_id, None::<Arc<Follower>>, Subscription::Start(from));
    unfold(state, |(events, client, workflow_id, mut follower, mut place)| async move {
        loop {
            place = match place {
                Subscription::Ended => return None,
                Subscription::Start(from) => {
                    let mut is_new = false;
                    let shared = events.follower(&workflow_id, || {
                        is_new = true;
                        Follower::start(&client, &workflow_id, from.clone())
                    });
                    let number = if is_new { Some(0) } else { shared.number_after(from.as_ref()) };
                    follower = Some(shared);
                    if let Some(number) = number {
                        Subscription::With { number, before: from }
                    } else {
                        let reader = Merged::new(&client, &workflow_id, from.clone());
                        Subscription::Alone(Box::new(reader), from)
                    }
                }
                Subscription::Alone(mut reader, before) => {
                    let shared = follower.clone()?;
                    let read = tokio::select! {
                        // A reader that waits for news waits with the others.
                        biased;
                        number = shared.number_of_news(before.as_ref()) => Err(number),
                        read = reader.next() => Ok(read),
                    };
                    match read {
                        Err(number) => Subscription::With { number, before },
                        Ok(Ok(None)) => return None,
                        Ok(Err(error)) => {
                            return Some((Err(error), (events, client, workflow_id, follower, Subscription::Ended)));
                        }
                        Ok(Ok(Some(event))) => {
                            let cursor = event.cursor.as_deref().and_then(|cursor| Cursor::parse(cursor).ok());
                            let place = Subscription::Alone(reader, cursor);
                            return Some((Ok(event), (events, client, workflow_id, follower, place)));
                        }
                    }
                }
                Subscription::With { number, before } => {
                    let shared = follower.clone()?;
                    match shared.event(number).await {
                        Next::Event(event) => {
                            let before = event.cursor.as_deref().and_then(|cursor| Cursor::parse(cursor).ok());
                            let place = Subscription::With { number: number + 1, before };
                            let event = Arc::unwrap_or_clone(event);
                            return Some((Ok(event), (events, client, workflow_id, follower, place)));
                        }
                        Next::Ended => return None,
                        Next::NotHeld => {
                            let reader = Merged::new(&client, &workflow_id, before.clone());
                            Subscription::Alone(Box::new(reader), before)
                        }
                    }
                }
            };
        }
    })
}

/// The next event of a subscriber.
enum Next {
    Event(Arc<RunEvent>),
    Ended,
    /// The follower no longer holds the event, or has failed.
    NotHeld,
}

impl Follower {
    /// Starts a reader.
    fn start(client: &Client, workflow_id: &str, from: Option<Cursor>) -> Arc<Self> {
        let log = Log { start: from.as_ref().map(Cursor::to_string), ..Log::default() };
        let follower = Arc::new(Self { log: Mutex::new(log), news: watch::Sender::new(0), reader: Mutex::default() });
        let reader = Merged::new(client, workflow_id, from);
        let task = tokio::spawn(read(reader, Arc::downgrade(&follower)));
        *follower.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(task.abort_handle());
        follower
    }

    /// Returns `true` if the follower reads no more events.
    pub(super) fn has_ended(&self) -> bool {
        self.log().end.is_some()
    }

    /// Returns the number of the event after this cursor, if the follower holds the event before
    /// or begins there.
    fn number_after(&self, cursor: Option<&Cursor>) -> Option<u64> {
        let cursor = cursor.map(Cursor::to_string);
        let log = self.log();
        if log.end == Some(FollowerEnd::Failed) {
            return None;
        }
        let held = cursor.as_ref().and_then(|cursor| log.numbers.get(cursor)).map(|number| number + 1);
        held.or_else(|| (log.start == cursor && log.first == 0).then_some(0))
    }

    /// Waits until the follower holds the event with this cursor; returns the number of the next.
    /// Waits without an end for an event that the follower never reaches.
    async fn number_of_news(&self, cursor: Option<&Cursor>) -> u64 {
        let mut news = self.news.subscribe();
        loop {
            news.mark_unchanged();
            if let Some(number) = self.number_after(cursor) {
                return number;
            }
            if news.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Waits for the event of this number.
    async fn event(&self, number: u64) -> Next {
        let mut news = self.news.subscribe();
        loop {
            news.mark_unchanged();
            {
                let log = self.log();
                let Some(place) = number.checked_sub(log.first) else { return Next::NotHeld };
                let held = usize::try_from(place).ok().and_then(|place| log.events.get(place));
                match (held, log.end) {
                    (Some(event), _) => return Next::Event(Arc::clone(event)),
                    (None, Some(FollowerEnd::Complete)) => return Next::Ended,
                    (None, Some(FollowerEnd::Failed)) => return Next::NotHeld,
                    (None, None) => {}
                }
            }
            if news.changed().await.is_err() {
                return Next::NotHeld;
            }
        }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if let Some(reader) = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
            reader.abort();
        }
    }
}

/// Reads to the end, as long as the follower has a subscriber.
async fn read(mut reader: Merged, follower: Weak<Follower>) {
    loop {
        let read = reader.next().await;
        let Some(follower) = follower.upgrade() else { return };
        let mut log = follower.log();
        let is_last = match read {
            Ok(Some(event)) => {
                log.push(event);
                false
            }
            Ok(None) => log.end.insert(FollowerEnd::Complete) == &FollowerEnd::Complete,
            Err(_) => log.end.insert(FollowerEnd::Failed) == &FollowerEnd::Failed,
        };
        drop(log);
        follower.news.send_modify(|version| *version += 1);
        if is_last {
            return;
        }
    }
}

impl Log {
    fn push(&mut self, event: RunEvent) {
        if self.events.len() == MAX_HELD_EVENTS
            && let Some(oldest) = self.events.pop_front()
        {
            self.first += 1;
            if let Some(cursor) = &oldest.cursor {
                self.numbers.remove(cursor);
            }
        }
        let number = self.first + self.events.len() as u64;
        if let Some(cursor) = &event.cursor {
            self.numbers.insert(cursor.clone(), number);
        }
        self.events.push_back(Arc::new(event));
    }
}
