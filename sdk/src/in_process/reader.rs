//! The events of a task for one reader: from the store, then from the hub of its owner or of a
//! follower in this process.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures::{Stream, StreamExt, stream::unfold};
use temporal_agents_core::wire::RunEvent;
use tokio::time::sleep;

use super::{
    follower::Following,
    hub::{Hub, Next},
    rows,
    runs::Process,
    writer::{number_of, short_id},
};
use crate::{
    client::{RunEventStream, RunEventsError},
    store::{SqlStoreError, sql::runs::StoredEvent},
};

/// Number of events that are read from the store at once.
const PAGE: u32 = 200;
/// The pauses before a failed look is repeated, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The place of a reader in the events.
struct Reader {
    process: Arc<Process>,
    id: String,
    key: String,
    execution: String,
    /// Number of the latest fact.
    after: i64,
    place: Place,
    /// `true` while the deltas are the rest of some that the reader does not have.
    skips_deltas: bool,
}

enum Place {
    /// Nothing was read; the cursor is that of the reader.
    Start(Option<String>),
    /// The next events are these, of the store.
    Store(VecDeque<StoredEvent>),
    /// The next event is the one of this number in a hub.
    Hub(Source, u64),
    Ended,
}

/// The origin of the events of a hub.
enum Source {
    /// The task of this process.
    Owner(Arc<Hub>),
    Follower(Arc<Following>),
}

impl Source {
    fn hub(&self) -> &Hub {
        match self {
            Self::Owner(hub) => hub,
            Self::Follower(following) => &following.hub,
        }
    }
}

/// Returns the events of a task after a cursor.
pub(super) fn events(process: &Arc<Process>, id: String, after: Option<String>, deltas: bool) -> RunEventStream {
    let reader = Reader {
        process: Arc::clone(process),
        key: rows::key_of(&id),
        id,
        execution: String::new(),
        after: 0,
        place: Place::Start(after),
        skips_deltas: false,
    };
    let events = stream(reader).filter(move |event: &Result<RunEvent, _>| {
        let is_wanted = deltas || !event.as_ref().is_ok_and(RunEvent::is_delta);
        std::future::ready(is_wanted)
    });
    RunEventStream::of(events)
}

fn stream(reader: Reader) -> impl Stream<Item = Result<RunEvent, RunEventsError>> + Send {
    unfold(reader, |mut reader| async move {
        let mut pause = FIRST_PAUSE;
        loop {
            match reader.next().await {
                Ok(Some(event)) => return Some((event, reader)),
                Ok(None) => return None,
                // The store may be unavailable for a time.
                Err(error) => {
                    tracing::warn!(%error, id = reader.id, "the events of a run cannot be read yet");
                    sleep(pause).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
            }
        }
    })
}

impl Reader {
    async fn next(&mut self) -> Result<Option<Result<RunEvent, RunEventsError>>, SqlStoreError> {
        loop {
            match &mut self.place {
                Place::Ended => return Ok(None),
                Place::Start(cursor) => {
                    let cursor = cursor.clone();
                    if let Some(error) = self.begin(cursor).await? {
                        self.place = Place::Ended;
                        return Ok(Some(Err(error)));
                    }
                }
                Place::Store(page) => match page.pop_front() {
                    Some(StoredEvent { sequence, event }) => {
                        self.after = sequence;
                        self.skips_deltas = false;
                        return Ok(Some(Ok(event)));
                    }
                    None => self.go_on().await?,
                },
                Place::Hub(source, number) => match source.hub().event(*number).await {
                    Next::Event(held) => {
                        *number += 1;
                        let event = Arc::unwrap_or_clone(held.event);
                        if held.fact > self.after {
                            (self.after, self.skips_deltas) = (held.fact, false);
                        } else if self.skips_deltas {
                            continue;
                        }
                        return Ok(Some(Ok(event)));
                    }
                    // The task has another owner, or has ended.
                    Next::Ended => {
                        let page = self.page().await?;
                        if page.is_empty() && self.has_ended().await? {
                            self.place = Place::Ended;
                        } else {
                            self.place = Place::Store(page);
                        }
                    }
                    Next::NotHeld => self.place = Place::Store(self.page().await?),
                },
            }
        }
    }

    /// Finds the task, and the place of the cursor in it.
    async fn begin(&mut self, cursor: Option<String>) -> Result<Option<RunEventsError>, SqlStoreError> {
        let Some(task) = rows::find(&self.process.settings.store, &self.key).await? else {
            return Ok(Some(self.not_found(None)));
        };
        self.execution = task.run.key;
        if let Some(cursor) = cursor {
            match number_of(&cursor, &self.execution) {
                Ok(Some(number)) if number <= task.run.sequence => self.after = number,
                Ok(Some(_)) => return Ok(Some(self.not_found(Some(short_id(&self.execution).to_owned())))),
                Ok(None) => {
                    if let Some(error) = self.begin_in_earlier(&cursor).await? {
                        return Ok(Some(error));
                    }
                }
                Err(reason) => return Ok(Some(RunEventsError::Cursor { cursor, reason })),
            }
        }
        self.place = Place::Store(VecDeque::new());
        Ok(None)
    }

    /// Finds the place of a cursor in an earlier execution of a chat that has started again.
    async fn begin_in_earlier(&mut self, cursor: &str) -> Result<Option<RunEventsError>, SqlStoreError> {
        for (execution, sequence) in rows::executions(&self.process.settings.store, &self.id).await? {
            if let Ok(Some(number)) = number_of(cursor, &execution)
                && number <= sequence
            {
                self.execution = execution;
                self.after = number;
                return Ok(None);
            }
        }
        Ok(Some(self.not_found(Some(short_id(&self.execution).to_owned()))))
    }

    /// Continues in a hub that has the next event, otherwise in the store.
    async fn go_on(&mut self) -> Result<(), SqlStoreError> {
        let source = match self.process.owned(&self.key) {
            Some(owned) if owned.execution == self.execution && !owned.hub.has_ended() => {
                Source::Owner(Arc::clone(&owned.hub))
            }
            _ => Source::Follower(self.follower()),
        };
        if let Some((number, is_cut)) = source.hub().number_after(self.after) {
            self.skips_deltas = is_cut;
            self.place = Place::Hub(source, number);
            return Ok(());
        }
        let page = self.page().await?;
        if page.is_empty() {
            // The hub is about to have the event.
            sleep(FIRST_PAUSE).await;
        }
        self.place = Place::Store(page);
        Ok(())
    }

    async fn page(&self) -> Result<VecDeque<StoredEvent>, SqlStoreError> {
        Ok(self.process.settings.store.events_after(&self.execution, self.after, PAGE).await?.into())
    }

    async fn has_ended(&self) -> Result<bool, SqlStoreError> {
        rows::execution_has_ended(&self.process.settings.store, &self.execution, self.after).await
    }

    /// Returns the follower of the task in this process, or starts one.
    fn follower(&self) -> Arc<Following> {
        let mut followed = self.process.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.retain(|_, following| following.strong_count() > 0);
        let running = followed.get(&self.execution).and_then(std::sync::Weak::upgrade);
        if let Some(following) = running.filter(|following| !following.hub.has_ended()) {
            return following;
        }
        let following = Arc::new(Following::start(&self.process, &self.key, &self.execution, self.after));
        followed.insert(self.execution.clone(), Arc::downgrade(&following));
        following
    }

    fn not_found(&self, run_id: Option<String>) -> RunEventsError {
        RunEventsError::NotFound { workflow_id: self.id.clone(), run_id, namespace: "in process".to_owned() }
    }
}
