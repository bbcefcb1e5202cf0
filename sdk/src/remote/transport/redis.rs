//! Streams in Redis, in the layout of Pulse: key `pulse:stream:<name>`, fields `n` (name of the
//! event) and `p` (payload).
//!
//! # Design
//! **Each request has a connection of its own** from a small pool: a request that waits blocks its
//! connection, and a transaction that watches a key must not share it. A connection with an error
//! is closed; the next request opens another.
//!
//! **A transaction begins with a request that changes nothing** (`WATCH`), which shows that the
//! connection is alive. So an error before `EXEC` means that nothing was appended.
//!
//! # Source
//! Package `pulse/streaming` of goadesign, as goa-ai's toolregistry uses it.

mod channels;
mod pool;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use ::redis::{
    Client, Cmd, ErrorKind, FromRedisValue, Pipeline, RedisError, Value,
    aio::MultiplexedConnection,
    cmd, from_redis_value, pipe,
    streams::{StreamAutoClaimReply, StreamId, StreamInfoConsumersReply, StreamReadReply},
};
use futures::{FutureExt, future::BoxFuture};
use tokio::time::timeout;

use self::pool::Pool;
use super::{
    Append, Appended, Entry, EntryId, GroupMember, StreamError, Streams,
    append::{Life, TimeLeft},
    checked,
};

/// Prefix of the keys of streams.
const KEY_PREFIX: &str = "pulse:stream:";

/// Longest time for an answer, beyond the time that the request itself waits.
const ANSWER: Duration = Duration::from_secs(10);

/// The place before the first entry of a stream, or of a list of entries that are not acknowledged.
const FIRST: &str = "0-0";

/// Times that a transaction is tried while other processes change its streams.
const TRIES: usize = 20;

/// Streams in Redis, version 6.2 or later.
///
/// ```no_run
/// use temporal_agents::{Resources, remote::transport::RedisTransport};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let resources = Resources::new().tool_streams(RedisTransport::new("redis://127.0.0.1:6379")?);
/// # let _ = resources;
/// # Ok(())
/// # }
/// ```
///
/// It connects when it is first used, and again after an error. Clones share their connections.
/// There is no TLS: put a tunnel in front of a server elsewhere.
#[derive(Clone)]
pub struct RedisTransport {
    pool: Pool,
}

/// The address is not that of a Redis server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address of the Redis server is not of the form redis://[user:password@]host:port[/database]: {reason}")]
#[non_exhaustive]
pub struct RedisAddressError {
    /// The reason; it does not quote the address, which may hold a password.
    pub reason: String,
}

impl RedisTransport {
    /// Creates a transport to the server at this address: `redis://[user:password@]host:port`.
    ///
    /// # Errors
    /// [`RedisAddressError`].
    pub fn new(address: &str) -> Result<Self, RedisAddressError> {
        let client = Client::open(address).map_err(|error| RedisAddressError { reason: reason_of(&error) })?;
        Ok(Self { pool: Pool::new(client) })
    }

    /// Sends a request that may be repeated, on a connection of the pool; once more on a new one if
    /// the connection was closed meanwhile. Then the first one may have taken effect, whatever
    /// becomes of the second.
    async fn ask<T: FromRedisValue>(&self, stream: &str, wait: Duration, request: &Cmd) -> Result<T, StreamError> {
        let mut error: Option<RedisError> = None;
        for is_fresh in [false, true] {
            let mut connection = match (self.pool.take(stream, is_fresh).await, &error) {
                (Ok(connection), _) => connection,
                (Err(_), Some(first)) => return Err(ambiguous(stream, reason_of(first))),
                (Err(failed), None) => return Err(failed),
            };
            match timeout(wait + ANSWER, request.query_async::<Value>(&mut connection)).await {
                Ok(Ok(answer)) => {
                    self.pool.give_back(connection);
                    return from_redis_value(answer).map_err(|error| unavailable(stream, error.to_string()));
                }
                Ok(Err(failed)) if failed.is_io_error() || failed.is_connection_dropped() => error = Some(failed),
                Ok(Err(failed)) if error.is_some() => return Err(ambiguous(stream, reason_of(&failed))),
                Ok(Err(failed)) => return Err(unavailable(stream, reason_of(&failed))),
                Err(_) => return Err(ambiguous(stream, "no answer in time".to_owned())),
            }
        }
        Err(error.map_or_else(|| unavailable(stream, String::new()), |error| ambiguous(stream, reason_of(&error))))
    }

    /// Returns the time of the server, in milliseconds since the Unix epoch.
    async fn time(&self, stream: &str) -> Result<u64, StreamError> {
        let (seconds, micros): (u64, u64) = self.ask(stream, Duration::ZERO, &cmd("TIME")).await?;
        Ok(seconds * 1000 + micros / 1000)
    }

    /// Returns a connection that has answered just now, and what it has answered: whether the
    /// streams of the conditions exist, and the time that is left to those that shall live for long.
    async fn ready(&self, append: &Append) -> Result<(MultiplexedConnection, Vec<i64>), StreamError> {
        let mut first = pipe();
        let watched: BTreeSet<&str> = conditions(append).chain(extended(append)).collect();
        // Without entries nothing depends on a later change.
        if !watched.is_empty() && !append.entries.is_empty() {
            first.cmd("WATCH").arg(watched.into_iter().map(key).collect::<Vec<_>>()).ignore();
        }
        for stream in conditions(append) {
            first.cmd("EXISTS").arg(key(stream));
        }
        for stream in timed(append) {
            first.cmd("PTTL").arg(key(stream));
        }
        if first.is_empty() {
            first.cmd("EXISTS").arg("");
        }
        let mut failed = String::new();
        for is_fresh in [false, true] {
            let mut connection = self.pool.take(append.stream(), is_fresh).await?;
            match timeout(ANSWER, first.query_async::<Vec<i64>>(&mut connection)).await {
                Ok(Ok(answers)) => return Ok((connection, answers)),
                Ok(Err(error)) => failed = reason_of(&error),
                Err(_) => failed = String::from("no answer in time"),
            }
        }
        Err(unavailable(append.stream(), failed))
    }

    async fn append_all(&self, append: &Append) -> Result<Appended, StreamError> {
        append.streams().try_for_each(checked)?;
        let stream = append.stream();
        for _ in 0..TRIES {
            let (mut connection, answers) = self.ready(append).await?;
            let (exist, left) = answers.split_at(conditions(append).count().min(answers.len()));
            let (must_not, must) = exist.split_at(append.unless_exists.len().min(exist.len()));
            // After a condition that does not hold the connection still watches streams, so it is
            // not given back.
            if must_not.contains(&1) {
                return Ok(Appended::Exists);
            }
            if must.contains(&0) {
                return Ok(Appended::Missing);
            }
            let left: BTreeMap<&str, TimeLeft> = timed(append).zip(left.iter().map(|left| time_left(*left))).collect();
            let expiries = append.expiries(|stream| left.get(stream).copied().unwrap_or(TimeLeft::Missing));
            if append.entries.is_empty() && expiries.is_empty() {
                self.pool.give_back(connection);
                return Ok(Appended::Appended);
            }
            let transaction = transaction(append, &expiries);
            match timeout(ANSWER, transaction.query_async::<Option<Value>>(&mut connection)).await {
                Ok(Ok(Some(_))) => {
                    self.pool.give_back(connection);
                    return Ok(Appended::Appended);
                }
                // Another process has changed a stream since: nothing was appended.
                Ok(Ok(None)) => self.pool.give_back(connection),
                Ok(Err(error)) if error.is_io_error() || error.is_connection_dropped() => {
                    return Err(ambiguous(stream, reason_of(&error)));
                }
                Ok(Err(error)) => return Err(unavailable(stream, reason_of(&error))),
                Err(_) => return Err(ambiguous(stream, "no answer in time".to_owned())),
            }
        }
        Err(unavailable(stream, "other processes change it all the time".to_owned()))
    }
}

impl Streams for RedisTransport {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<Appended, StreamError>> {
        async move { self.append_all(&append).await }.boxed()
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
            let mut read = cmd("XREAD");
            read.arg("COUNT").arg(most);
            let after = after.map_or_else(|| "0-0".to_owned(), |id| id.to_string());
            blocking(&mut read, wait).arg("STREAMS").arg(key(stream)).arg(after);
            let reply: Option<StreamReadReply> = self.ask(stream, wait, &read).await?;
            Ok(entries_of(reply))
        }
        .boxed()
    }

    fn exists<'a>(&'a self, stream: &'a str) -> BoxFuture<'a, Result<bool, StreamError>> {
        async move {
            checked(stream)?;
            self.ask(stream, Duration::ZERO, cmd("EXISTS").arg(key(stream))).await
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
            let begins_at = self.time(stream).await?.saturating_sub(millis(since));
            let mut create = cmd("XGROUP");
            create
                .arg("CREATE")
                .arg(key(stream))
                .arg(group)
                .arg(EntryId::new(begins_at, 0).to_string())
                .arg("MKSTREAM");
            match self.ask::<Value>(stream, Duration::ZERO, &create).await {
                Ok(_) => Ok(()),
                Err(error) if reason_in(&error).contains("BUSYGROUP") => Ok(()),
                Err(error) => Err(error),
            }
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
            let GroupMember { stream, group, consumer } = member;
            checked(stream)?;
            let mut read = cmd("XREADGROUP");
            read.arg("GROUP").arg(group).arg(consumer).arg("COUNT").arg(most);
            blocking(&mut read, wait).arg("STREAMS").arg(key(stream)).arg(">");
            let reply: Result<Option<StreamReadReply>, _> = self.ask(stream, wait, &read).await;
            reply.map(entries_of).map_err(|error| of_group(error, group))
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
            let GroupMember { stream, group, consumer } = member;
            checked(stream)?;
            // One request looks at ten times as many entries as it may claim, and returns the place at
            // which the next one continues; `0-0` at the end of the list.
            let mut from = FIRST.to_owned();
            loop {
                let mut claim = cmd("XAUTOCLAIM");
                claim.arg(key(stream)).arg(group).arg(consumer).arg(millis(idle)).arg(from).arg("COUNT").arg(most);
                let reply: Result<StreamAutoClaimReply, _> = self.ask(stream, Duration::ZERO, &claim).await;
                let reply = reply.map_err(|error| of_group(error, group))?;
                let claimed: Vec<Entry> = reply.claimed.iter().filter_map(entry_of).collect();
                if !claimed.is_empty() || reply.next_stream_id == FIRST {
                    return Ok(claimed);
                }
                from = reply.next_stream_id;
            }
        }
        .boxed()
    }

    fn renew<'a>(&'a self, member: GroupMember<'a>, ids: &'a [EntryId]) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            let GroupMember { stream, group, consumer } = member;
            if ids.is_empty() {
                return Ok(());
            }
            let mut claim = cmd("XCLAIM");
            claim.arg(key(stream)).arg(group).arg(consumer).arg(0);
            for id in ids {
                claim.arg(id.to_string());
            }
            claim.arg("JUSTID");
            let claimed: Result<Value, _> = self.ask(stream, Duration::ZERO, &claim).await;
            claimed.map(drop).map_err(|error| of_group(error, group))
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
            if ids.is_empty() {
                return Ok(());
            }
            let mut acknowledge = cmd("XACK");
            acknowledge.arg(key(stream)).arg(group);
            for id in ids {
                acknowledge.arg(id.to_string());
            }
            self.ask::<Value>(stream, Duration::ZERO, &acknowledge).await.map(drop)
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
            let mut info = cmd("XINFO");
            info.arg("CONSUMERS").arg(key(stream)).arg(group);
            let reply: Result<StreamInfoConsumersReply, _> = self.ask(stream, Duration::ZERO, &info).await;
            let consumers = reply.map_err(|error| of_group(error, group))?.consumers;
            let idle = consumers.iter().map(|consumer| u64::try_from(consumer.idle).unwrap_or(u64::MAX)).min();
            Ok(idle.map(Duration::from_millis))
        }
        .boxed()
    }

    fn now(&self) -> BoxFuture<'_, Result<u64, StreamError>> {
        self.time("").boxed()
    }
}

impl fmt::Debug for RedisTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisTransport").finish_non_exhaustive()
    }
}

/// Returns the streams that must not exist, and then those that must.
fn conditions(append: &Append) -> impl Iterator<Item = &str> {
    append.unless_exists.iter().chain(&append.only_if_exists).map(String::as_str)
}

/// Returns the streams whose time is never shortened.
fn extended(append: &Append) -> impl Iterator<Item = &str> {
    append.lives.iter().filter(|(_, life)| !matches!(life, Life::Exactly(_))).map(|(stream, _)| &**stream)
}

/// Returns the streams whose times decide what is set.
fn timed(append: &Append) -> impl Iterator<Item = &str> {
    let others = append.lives.iter().filter_map(|(_, life)| match life {
        Life::Outlives { other, .. } => Some(&**other),
        Life::Exactly(_) | Life::AtLeast(_) => None,
    });
    extended(append).chain(others)
}

/// Reads the answer to `PTTL`.
fn time_left(answer: i64) -> TimeLeft {
    match u64::try_from(answer) {
        Ok(millis) => TimeLeft::Until(Duration::from_millis(millis)),
        Err(_) if answer == -1 => TimeLeft::Endless,
        Err(_) => TimeLeft::Missing,
    }
}

/// Returns the commands that append the entries, as one transaction.
fn transaction(append: &Append, expiries: &[(&str, Duration)]) -> Pipeline {
    let mut transaction = pipe();
    transaction.atomic();
    for entry in &append.entries {
        let add = transaction.cmd("XADD").arg(key(&entry.stream));
        if let Some(most) = append.length_of(&entry.stream) {
            add.arg("MAXLEN").arg("~").arg(most);
        }
        add.arg("*").arg("n").arg(&entry.event).arg("p").arg(&entry.payload);
    }
    for (stream, after) in expiries {
        transaction.cmd("PEXPIRE").arg(key(stream)).arg(millis(*after));
    }
    transaction
}

/// Adds the time for which a request waits.
fn blocking(request: &mut Cmd, wait: Duration) -> &mut Cmd {
    // `BLOCK 0` waits for ever.
    if wait.is_zero() { request } else { request.arg("BLOCK").arg(millis(wait).max(1)) }
}

fn key(stream: &str) -> String {
    format!("{KEY_PREFIX}{stream}")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn entries_of(reply: Option<StreamReadReply>) -> Vec<Entry> {
    let streams = reply.map(|reply| reply.keys).unwrap_or_default();
    streams.iter().flat_map(|stream| &stream.ids).filter_map(entry_of).collect()
}

/// Returns an entry; fields that it does not have are empty, and consumers skip it.
fn entry_of(entry: &StreamId) -> Option<Entry> {
    let bytes = |field: &str| -> Vec<u8> {
        entry.map.get(field).and_then(|value| from_redis_value(value.clone()).ok()).unwrap_or_default()
    };
    let event = String::from_utf8_lossy(&bytes("n")).into_owned();
    Some(Entry { id: EntryId::parse(&entry.id)?, event, payload: bytes("p") })
}

fn unavailable(stream: &str, reason: String) -> StreamError {
    StreamError::Unavailable { stream: stream.to_owned(), reason }
}

fn ambiguous(stream: &str, reason: String) -> StreamError {
    StreamError::Ambiguous { stream: stream.to_owned(), reason }
}

/// Returns the error of a group that does not exist.
fn of_group(error: StreamError, group: &str) -> StreamError {
    match error {
        StreamError::Unavailable { stream, reason } | StreamError::Ambiguous { stream, reason }
            if reason.contains("NOGROUP") || reason.contains("no such key") =>
        {
            StreamError::NoGroup { stream, group: group.to_owned() }
        }
        error => error,
    }
}

/// Returns the reason that the server gives for an error, or an empty string.
fn reason_in(error: &StreamError) -> &str {
    match error {
        StreamError::Unavailable { reason, .. } | StreamError::Ambiguous { reason, .. } => reason,
        StreamError::NoGroup { .. } | StreamError::Name { .. } => "",
    }
}

/// Returns the reason of an error. The error of an address quotes nothing of it.
fn reason_of(error: &RedisError) -> String {
    if error.kind() == ErrorKind::InvalidClientConfig { "it cannot be read".to_owned() } else { error.to_string() }
}
