//! Streams in the memory of one process: for tests, and for providers in the same process.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::{
    Append, Appended, Entry, EntryId, GroupMember, StreamError, Streams, append::TimeLeft, checked,
    memory_channels::MemoryChannels,
};
use crate::remote::clock::Clock;

/// Streams in the memory of one process. Clones share them.
///
/// Times are those of tokio, so that tests with a paused clock expire streams at once.
#[derive(Clone, Debug, Default)]
pub struct MemoryTransport(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    streams: Mutex<BTreeMap<String, Stream>>,
    appended: Notify,
    channels: MemoryChannels,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Stream {
    entries: Vec<Entry>,
    last: Option<EntryId>,
    groups: BTreeMap<String, Group>,
    expires_at: Option<Instant>,
}

#[derive(Debug)]
struct Group {
    /// The last entry that was delivered; `None` before the first.
    delivered: Option<EntryId>,
    /// Entries that are not acknowledged, with the time of their delivery.
    pending: BTreeMap<EntryId, Instant>,
    /// The last time at which a consumer asked for entries.
    active: Option<Instant>,
}

impl MemoryTransport {
    /// Creates streams that no other value shares.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes everything, as a server without persistence does when it restarts.
    pub fn clear(&self) {
        self.0.streams.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.0.appended.notify_waiters();
        self.0.channels.clear();
    }

    pub(super) fn channels(&self) -> &MemoryChannels {
        &self.0.channels
    }

    /// Returns the time in milliseconds since the Unix epoch, which dates entries.
    fn now_millis(&self) -> u64 {
        u64::try_from(self.0.clock.now().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the streams that have not expired.
    fn streams(&self) -> MutexGuard<'_, BTreeMap<String, Stream>> {
        let mut streams = self.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        streams.retain(|_, stream| stream.expires_at.is_none_or(|at| at > now));
        streams
    }

    /// Calls `take` until it returns entries or the time is over.
    async fn wait_for(
        &self,
        wait: Duration,
        take: impl Fn() -> Result<Vec<Entry>, StreamError>,
    ) -> Result<Vec<Entry>, StreamError> {
        let taken = async {
            loop {
                let appended = self.0.appended.notified();
                let entries = take()?;
                if !entries.is_empty() {
                    return Ok(entries);
                }
                appended.await;
            }
        };
        timeout(wait, taken).await.unwrap_or_else(|_| take())
    }
}

impl Streams for MemoryTransport {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        async move {
            append.streams().try_for_each(checked)?;
            let mut streams = self.streams();
            let exists = |stream: &String| streams.contains_key(stream);
            if append.unless_exists.iter().any(exists) {
                return Ok(Appended::Exists);
            }
            if !append.only_if_exists.iter().all(exists) {
                return Ok(Appended::Missing);
            }
            let now = Instant::now();
            let left = |name: &str| match streams.get(name).map(|stream| stream.expires_at) {
                None => TimeLeft::Missing,
                Some(None) => TimeLeft::Endless,
                Some(Some(at)) => TimeLeft::Until(at.duration_since(now)),
            };
            let expiries = append.expiries(left);
            for entry in &append.entries {
                let stream = streams.entry(entry.stream.clone()).or_default();
                let id = stream.next_id(self.now_millis());
                stream.entries.push(Entry { id, event: entry.event.clone(), payload: entry.payload.clone() });
                let beyond =
                    append.length_of(&entry.stream).map_or(0, |most| stream.entries.len().saturating_sub(most));
                stream.entries.drain(..beyond);
            }
            for (name, after) in expiries {
                if let Some(stream) = streams.get_mut(name) {
                    stream.expires_at = Some(now + after);
                }
            }
            drop(streams);
            self.0.appended.notify_waiters();
            Ok(Appended::Appended)
        }
        .boxed()
    }

    fn read<'a>(
        &'a self,
        stream: &'a str,
        after: Option<EntryId>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        async move {
            checked(stream)?;
            let take = || {
                let streams = self.streams();
                let entries = streams.get(stream).map(|stream| &*stream.entries).unwrap_or_default();
                Ok(entries.iter().filter(|entry| Some(entry.id) > after).take(most).cloned().collect())
            };
            self.wait_for(wait, take).await
        }
        .boxed()
    }

    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        async move {
            checked(stream)?;
            Ok(self.streams().contains_key(stream))
        }
        .boxed()
    }

    fn create_group<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            checked(stream)?;
            let mut streams = self.streams();
            let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
            let begins_at = self.now_millis().saturating_sub(since);
            let delivered = Some(EntryId::new(begins_at, 0));
            let begun = Group { delivered, pending: BTreeMap::new(), active: None };
            streams.entry(stream.to_owned()).or_default().groups.entry(group.to_owned()).or_insert(begun);
            Ok(())
        }
        .boxed()
    }

    fn read_group<'a>(
        &'a self,
        member: GroupMember<'a>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        async move {
            checked(member.stream)?;
            let take = || {
                let mut streams = self.streams();
                let (entries, group) = group_of(&mut streams, member)?;
                group.active = Some(Instant::now());
                let new = entries.iter().filter(|entry| Some(entry.id) > group.delivered).take(most);
                let new: Vec<Entry> = new.cloned().collect();
                for entry in &new {
                    group.delivered = Some(entry.id);
                    group.pending.insert(entry.id, Instant::now());
                }
                Ok(new)
            };
            self.wait_for(wait, take).await
        }
        .boxed()
    }

    fn claim_idle<'a>(
        &'a self,
        member: GroupMember<'a>,
        idle: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>> {
        async move {
            let mut streams = self.streams();
            let (entries, group) = group_of(&mut streams, member)?;
            let now = Instant::now();
            group.active = Some(now);
            // Entries that were removed from the stream are nobody's.
            group.pending.retain(|id, _| entries.iter().any(|entry| entry.id == *id));
            let is_idle = |delivered: &Instant| now.duration_since(*delivered) >= idle;
            let ids: Vec<EntryId> = group
                .pending
                .iter()
                .filter(|(_, delivered)| is_idle(delivered))
                .map(|(id, _)| *id)
                .take(most)
                .collect();
            for id in &ids {
                group.pending.insert(*id, now);
            }
            Ok(entries.iter().filter(|entry| ids.contains(&entry.id)).cloned().collect())
        }
        .boxed()
    }

    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            let mut streams = self.streams();
            let (_, group) = group_of(&mut streams, member)?;
            for id in ids {
                if let Some(delivered) = group.pending.get_mut(id) {
                    *delivered = Instant::now();
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn acknowledge<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            let mut streams = self.streams();
            if let Some(group) = streams.get_mut(stream).and_then(|stream| stream.groups.get_mut(group)) {
                for id in ids {
                    group.pending.remove(id);
                }
            }
            Ok(())
        }
        .boxed()
    }

    fn idle_time<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
    ) -> BoxFuture<'a, Result<Option<Duration>, StreamError>> {
        async move {
            checked(stream)?;
            let mut streams = self.streams();
            let (_, group) = group_of(&mut streams, GroupMember { stream, group, consumer: "" })?;
            Ok(group.active.map(|active| active.elapsed()))
        }
        .boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        ready(Ok(self.now_millis())).boxed()
    }
}

impl Stream {
    fn next_id(&mut self, now_millis: u64) -> EntryId {
        let now = EntryId::new(now_millis, 0);
        let id = match self.last {
            Some(last) if last >= now => EntryId::new(last.millis, last.number + 1),
            _ => now,
        };
        self.last = Some(id);
        id
    }
}

/// Returns the entries of a stream, and a group of it.
fn group_of<'s>(
    streams: &'s mut BTreeMap<String, Stream>,
    member: GroupMember<'_>,
) -> Result<(&'s [Entry], &'s mut Group), StreamError> {
    let GroupMember { stream, group, consumer: _ } = member;
    let missing = || StreamError::NoGroup { stream: stream.to_owned(), group: group.to_owned() };
    let Stream { entries, groups, .. } = streams.get_mut(stream).ok_or_else(missing)?;
    Ok((entries, groups.get_mut(group).ok_or_else(missing)?))
}
