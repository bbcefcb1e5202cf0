//! A follower of a task that another process owns: it fills a hub with the facts in the store, and
//! with the deltas that a broker brings between them.

use std::{collections::VecDeque, pin::pin, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, future::Either, stream::pending};
use tokio::{
    task::AbortHandle,
    time::{Instant, sleep_until},
};

use super::{
    broker::{DeltaFilter, DeltaPart},
    hub::Hub,
    rows,
    runs::Process,
};
use crate::store::sql::runs::StoredEvent;

/// Number of events that are read from the store at once.
const PAGE: u32 = 200;
/// The pauses between two looks at the store, from the first to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How long a fact waits for the deltas before it, if the broker brings any.
const DELTAS_TIMEOUT: Duration = Duration::from_millis(200);

/// A follower for all readers in this process. It ends with them.
pub(super) struct Following {
    pub(super) hub: Arc<Hub>,
    task: AbortHandle,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Following {
    /// Follows the execution of a task after this fact, until the task has ended or belongs to this
    /// process.
    pub(super) fn start(process: &Arc<Process>, key: &str, execution: &str, after: i64) -> Self {
        let hub = Arc::new(Hub::new(after));
        let follower = Follower {
            process: Arc::clone(process),
            key: key.to_owned(),
            execution: execution.to_owned(),
            hub: Arc::clone(&hub),
            after,
            latest: after,
            facts: VecDeque::new(),
            parts: VecDeque::new(),
            filter: DeltaFilter::default(),
            has_order: false,
        };
        Self { hub, task: tokio::spawn(follower.follow()).abort_handle() }
    }
}

struct Follower {
    process: Arc<Process>,
    key: String,
    execution: String,
    hub: Arc<Hub>,
    /// Number of the latest fact that readers have.
    after: i64,
    /// Number of the latest fact that was read.
    latest: i64,
    /// The facts between these two.
    facts: VecDeque<StoredEvent>,
    /// Parts from the broker that follow facts that were not read yet.
    parts: VecDeque<DeltaPart>,
    filter: DeltaFilter,
    /// `true` while the broker announces facts: a fact then waits for the deltas before it.
    has_order: bool,
}

impl Follower {
    async fn follow(mut self) {
        let broker = self.process.settings.deltas.as_ref();
        let parts =
            broker.map_or_else(|| Either::Left(pending()), |broker| Either::Right(broker.read(&self.execution)));
        let mut parts = pin!(parts);
        let mut pause = FIRST_PAUSE;
        loop {
            let has_news = self.read_facts().await;
            if self.facts.is_empty() && self.has_ended().await {
                self.hub.end();
                return;
            }
            if has_news {
                pause = FIRST_PAUSE;
            }
            let wait = if self.facts.is_empty() { pause } else { DELTAS_TIMEOUT };
            self.receive(parts.as_mut(), Instant::now() + wait).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Reads the facts that the store has, and passes them on. Returns `true` if there were new facts.
    async fn read_facts(&mut self) -> bool {
        let mut has_news = false;
        loop {
            let page = self.process.settings.store.events_after(&self.execution, self.latest, PAGE).await;
            let page = page.unwrap_or_else(|error| {
                tracing::warn!(%error, "the events of a run cannot be read yet");
                Vec::new()
            });
            let is_last = page.len() < PAGE as usize;
            if let Some(last) = page.last() {
                self.latest = last.sequence;
                has_news = true;
            }
            self.facts.extend(page);
            self.pass_on();
            if is_last {
                break;
            }
        }
        // Parts that are left name facts that the store did not return, because a read failed: their
        // deltas are lost.
        self.parts.clear();
        has_news
    }

    /// Passes on what the broker brings, until it tells of facts that were not read, or this time is
    /// over.
    async fn receive(&mut self, mut parts: impl Stream<Item = Vec<DeltaPart>> + Unpin, due: Instant) {
        while self.parts.is_empty() {
            tokio::select! {
                Some(found) = parts.next() => {
                    self.has_order |= !found.is_empty();
                    self.parts.extend(found);
                    self.pass_on();
                }
                () = sleep_until(due) => {
                    // The broker has lost what belongs before the facts that wait.
                    self.has_order &= self.facts.is_empty();
                    self.pass_on();
                    return;
                }
            }
        }
    }

    /// Passes on the facts and the deltas that are next.
    fn pass_on(&mut self) {
        while let Some(fact) = self.parts.front().map(|part| part.fact).filter(|fact| *fact <= self.latest) {
            self.pass_on_facts(fact);
            let Some(part) = self.parts.pop_front() else { return };
            // The facts after late deltas replace them.
            if fact == self.after {
                for delta in part.deltas {
                    if let Some(delta) = self.filter.pass(delta) {
                        self.hub.push(fact, delta);
                    }
                }
            }
        }
        if !self.has_order {
            self.pass_on_facts(self.latest);
        }
    }

    fn pass_on_facts(&mut self, last: i64) {
        let due = self.facts.partition_point(|fact| fact.sequence <= last);
        for StoredEvent { sequence, event } in self.facts.drain(..due) {
            self.after = sequence;
            self.hub.push(sequence, event);
        }
    }

    async fn has_ended(&self) -> bool {
        let owned = self.process.owned(&self.key);
        let is_owned = owned.is_some_and(|owned| owned.execution == self.execution && !owned.hub.has_ended());
        let store = &self.process.settings.store;
        is_owned || rows::execution_has_ended(store, &self.execution, self.after).await.unwrap_or_default()
    }
}
