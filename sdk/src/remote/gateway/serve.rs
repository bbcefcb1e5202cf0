//! Reads registrations, and sends pings.
//!
//! # Design
//! **A gateway first catches up.** It reads the entries of the past, whose pongs do not show that a
//! provider is at work now, and then sends a ping to each toolset that it found. Later
//! registrations of a toolset that it does not know are followed by a ping at once, so that a new
//! toolset is healthy as soon as its provider answers.
//!
//! **What cannot be read is skipped**, with a line in the log: a message of one provider must not
//! keep those of others from the catalogue.

use std::{
    collections::BTreeSet,
    future::Future,
    time::{Duration, UNIX_EPOCH},
};

use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{
    Gateway, Registration, State, Toolset,
    registration::{MOST_REGISTRATIONS, REGISTRATIONS, REMEMBERED_FOR},
};
use crate::remote::{
    publish,
    transport::{Append, Entry, EntryId, StreamError},
};

/// Longest time that one request to the transport waits for entries.
const ONE_WAIT: Duration = Duration::from_secs(1);

/// Pause before a request to a transport that was unavailable is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// Most entries that one request returns.
const MOST_ENTRIES: usize = 100;

/// Most pings of one transaction.
const MOST_PINGS: usize = 100;

/// The end of the year 9999, the latest time of RFC 3339, in milliseconds since the Unix epoch.
const LATEST_MILLIS: u64 = 253_402_300_799_999;

impl Gateway {
    /// Keeps the catalogue up to date, and sends pings, until `stop` ends.
    ///
    /// A gateway knows the toolsets that are registered as soon as it has read their registrations,
    /// and calls them after their first pong. Errors of the transport are logged, and the request
    /// is repeated: a gateway waits for a broker that is down, and keeps its catalogue meanwhile.
    pub async fn serve(&self, stop: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = stop => {}
            () = Reader::new(self).follow() => {}
        }
    }
}

/// The place of a gateway in the stream of registrations.
struct Reader<'g> {
    gateway: &'g Gateway,
    /// The last entry that was read.
    after: Option<EntryId>,
    /// Most entries of the past that are left; `None` once the gateway has caught up.
    past: Option<usize>,
    pings_at: Instant,
}

impl<'g> Reader<'g> {
    fn new(gateway: &'g Gateway) -> Self {
        Self { gateway, after: None, past: Some(MOST_REGISTRATIONS), pings_at: Instant::now() }
    }

    async fn follow(mut self) {
        loop {
            if self.past.is_none() && Instant::now() >= self.pings_at {
                self.gateway.ping_all().await;
                self.pings_at = Instant::now() + self.gateway.state().health.ping_interval;
            }
            if let Err(error) = self.read().await {
                tracing::warn!(%error, "registrations of toolsets cannot be read");
                sleep(PAUSE).await;
            }
        }
    }

    /// Reads the next entries.
    async fn read(&mut self) -> Result<(), StreamError> {
        let streams = &self.gateway.streams;
        let until_pings = self.pings_at.saturating_duration_since(Instant::now());
        let wait = if self.past.is_some() { Duration::ZERO } else { ONE_WAIT.min(until_pings) };
        let entries = streams.read(REGISTRATIONS, self.after, MOST_ENTRIES, wait).await?;
        let is_past = self.past.is_some();
        let new = self.gateway.apply(&entries, is_past);
        match entries.last() {
            Some(last) => self.after = Some(last.id),
            // A stream that begins anew may do so with smaller ids.
            None if self.after.is_some() && !streams.exists(REGISTRATIONS).await? => self.after = None,
            None => {}
        }
        if !is_past {
            self.gateway.ping(new.into_iter().collect()).await;
        }
        let left = self.past.and_then(|past| past.checked_sub(entries.len()));
        self.past = left.filter(|_| entries.len() >= MOST_ENTRIES);
        Ok(())
    }
}

impl Gateway {
    /// Applies messages to the catalogue, and returns the names of toolsets that were not in it.
    /// Pongs of the past are ignored.
    fn apply(&self, entries: &[Entry], is_past: bool) -> BTreeSet<String> {
        let mut new = BTreeSet::new();
        for entry in entries {
            let read = Registration::read(entry).and_then(|registration| {
                let now = self.clock.now();
                match registration {
                    Some(Registration::Register(toolset)) => {
                        let toolset = Toolset { registered_at: Some(time_of(entry.id)), ..*toolset };
                        let name = toolset.name.clone();
                        if self.state().register(toolset, now)? {
                            new.insert(name);
                        }
                    }
                    Some(Registration::Unregister { name }) => {
                        self.state().forget(&name);
                        new.remove(&name);
                    }
                    Some(Registration::Pong { toolset, .. }) if !is_past => self.state().health.ponged(&toolset, now),
                    Some(Registration::Pong { .. }) | None => {}
                }
                Ok(())
            });
            if let Err(reason) = read {
                tracing::warn!(entry = %entry.id, reason, "a message about a toolset is skipped");
            }
        }
        new
    }

    /// Forgets the toolsets that are silent for long, and sends a ping to the others that have a
    /// provider.
    async fn ping_all(&self) {
        let toolsets = {
            let (mut state, now) = (self.state(), self.clock.now());
            for toolset in state.health.silent_for(REMEMBERED_FOR, now) {
                state.forget(&toolset);
            }
            state.health.to_ping(now)
        };
        self.ping(toolsets).await;
    }

    /// Sends a ping to each of these toolsets. One that is lost is a missed one.
    async fn ping(&self, toolsets: Vec<String>) {
        for toolsets in toolsets.chunks(MOST_PINGS) {
            let pings = toolsets
                .iter()
                .try_fold(Append::new(), |pings, toolset| publish::ping(pings, toolset, &Uuid::new_v4().to_string()));
            let sent = match pings {
                Ok(pings) => self.streams.append(pings).await.map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = sent {
                tracing::warn!(error, "pings cannot be sent");
            }
        }
    }
}

impl State {
    /// Registers a toolset; returns `true` if it is new.
    pub(super) fn register(&mut self, toolset: Toolset, now: Duration) -> Result<bool, String> {
        let name = toolset.name.clone();
        let is_new = self.catalogue.get(&name).is_none();
        self.catalogue.register(toolset).map_err(|error| error.to_string())?;
        self.health.registered(&name, now);
        Ok(is_new)
    }

    fn forget(&mut self, toolset: &str) {
        self.catalogue.unregister(toolset);
        self.health.forget(toolset);
    }
}

/// Returns the time of an entry, RFC 3339. Ids are numbers of any size.
fn time_of(id: EntryId) -> String {
    let millis = Duration::from_millis(id.millis().min(LATEST_MILLIS));
    prost_types::Timestamp::from(UNIX_EPOCH + millis).to_string()
}
