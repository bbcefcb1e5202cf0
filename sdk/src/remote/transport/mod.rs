//! Streams: append-only logs that processes share, read one by one or as a group of consumers.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the trait, and the entries of a stream |
//! | `append.rs` | entries to append, to several streams at once |
//! | `error.rs` | errors, by what they leave behind |
//! | `channels.rs` | messages to whoever listens now, and values that expire |
//! | `memory.rs`, `memory_channels.rs` | both in the memory of one process |
//! | `redis.rs`, `redis/channels.rs` | both in Redis (feature `redis`), in the layout of Pulse |

mod append;
mod channels;
mod error;
mod memory;
mod memory_channels;
#[cfg(feature = "redis")]
mod redis;

use std::{fmt, time::Duration};

use futures::future::BoxFuture;

#[cfg(feature = "redis")]
pub use self::redis::{RedisAddressError, RedisTransport};
pub use self::{
    append::{Append, Appended},
    channels::{Channels, Subscription},
    error::StreamError,
    memory::MemoryTransport,
};

/// The id of an entry: the milliseconds of the time at which it was appended, and a number among
/// the entries of the same millisecond. Later entries of a stream have greater ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryId {
    millis: u64,
    number: u64,
}

impl EntryId {
    /// Creates an id.
    pub fn new(millis: u64, number: u64) -> Self {
        Self { millis, number }
    }

    /// Returns the time at which the entry was appended, by the clock of the broker, in
    /// milliseconds since the Unix epoch.
    pub(crate) fn millis(self) -> u64 {
        self.millis
    }

    /// Reads an id in the form `1700000000000-0`.
    #[cfg(any(feature = "redis", test))]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (millis, number) = text.split_once('-')?;
        Some(Self { millis: millis.parse().ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.millis, self.number)
    }
}

/// An entry of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Id of the entry.
    pub id: EntryId,
    /// Name of the event.
    pub event: String,
    /// The payload: JSON, for the protocol of a tool registry.
    pub payload: Vec<u8>,
}

/// Streams that processes share.
///
/// A stream exists from its first entry on, until it is deleted or expires. A *group* of consumers
/// shares the entries of a stream: each entry is delivered to one consumer, which acknowledges it;
/// an entry that is not acknowledged is delivered to another consumer that claims it.
///
/// Dropping a future of [`read_group`](Self::read_group) or [`claim_idle`](Self::claim_idle) may
/// leave entries delivered and not acknowledged; they are claimed later.
pub trait Streams: Send + Sync + 'static {
    /// Appends entries: all, or none.
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>>;

    /// Returns the entries after this one, or from the oldest on, at most `most`. Waits for up to
    /// `wait` until there is one, also for a stream that does not exist.
    fn read<'a>(
        &'a self,
        stream: &'a str,
        after: Option<EntryId>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>>;

    /// Returns `true` if the stream exists.
    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>>;

    /// Creates a group, unless it exists, and its stream. The group gets the entries of the time
    /// `since` before now, and later ones.
    fn create_group<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        since: Duration,
    ) -> BoxFuture<'a, Result<(), StreamError>>;

    /// Delivers entries that no consumer of the group has received, at most `most`. Waits for up to
    /// `wait` until there is one.
    fn read_group<'a>(
        &'a self,
        member: GroupMember<'a>,
        most: usize,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>>;

    /// Delivers entries that were delivered at least `idle` ago and are not acknowledged, at most
    /// `most`.
    fn claim_idle<'a>(
        &'a self,
        member: GroupMember<'a>,
        idle: Duration,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, StreamError>>;

    /// Sets the time of the delivery of these entries to now, so that no other consumer claims
    /// them.
    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>>;

    /// Acknowledges entries: they are not delivered again.
    fn acknowledge<'a>(
        &'a self,
        stream: &'a str,
        group: &'a str,
        ids: &'a [EntryId],
    ) -> BoxFuture<'a, Result<(), StreamError>>;

    /// Returns the time since any consumer of the group was last active; `None` if there is no
    /// consumer. Some brokers (Redis before 7.2) record only deliveries: a consumer that waits for
    /// entries then looks idle.
    ///
    /// # Errors
    /// [`StreamError::NoGroup`] if the group or its stream does not exist, or the broker is
    /// unavailable.
    fn idle_time<'a>(&'a self, stream: &'a str, group: &'a str)
    -> BoxFuture<'a, Result<Option<Duration>, StreamError>>;

    /// Returns the time of the broker, in milliseconds since the Unix epoch. Entries are dated, and
    /// streams expire, by this clock.
    ///
    /// # Errors
    /// The broker is unavailable.
    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>>;
}

/// A consumer of a group.
#[derive(Clone, Copy, Debug)]
pub struct GroupMember<'a> {
    /// Name of the stream.
    pub stream: &'a str,
    /// Name of the group.
    pub group: &'a str,
    /// Name of the consumer.
    pub consumer: &'a str,
}

/// Checks the name of a stream: 1 to 512 characters, without spaces, NUL and `*?[]`, as in Pulse.
///
/// # Errors
/// [`StreamError::Name`].
pub(in crate::remote) fn checked(stream: &str) -> Result<(), StreamError> {
    let length = stream.chars().count();
    let is_name = (1..=512).contains(&length) && !stream.contains([' ', '\0', '*', '?', '[', ']']);
    if is_name { Ok(()) } else { Err(StreamError::Name { stream: stream.chars().take(100).collect() }) }
}

#[cfg(test)]
mod tests;
