//! Entries to append.

use std::time::Duration;

/// Entries to append, to one or several streams: all of them, or none.
///
/// ```
/// use std::time::Duration;
/// use temporal_agents::remote::transport::Append;
///
/// let append = Append::new()
///     .unless_exists("result:c1")
///     .entry("result:c1", "init", "{}")
///     .expire("result:c1", Duration::from_mins(15))
///     .entry("toolset:demo:requests", "call", r#"{"type": "call"}"#);
/// # let _ = append;
/// ```
#[derive(Clone, Debug, Default)]
pub struct Append {
    pub(super) unless_exists: Vec<String>,
    pub(super) only_if_exists: Vec<String>,
    pub(super) entries: Vec<NewEntry>,
    pub(super) lives: Vec<(String, Life)>,
    pub(super) lengths: Vec<(String, usize)>,
}

/// An entry that has no id yet.
#[derive(Clone, Debug)]
pub(super) struct NewEntry {
    pub(super) stream: String,
    pub(super) event: String,
    pub(super) payload: Vec<u8>,
}

/// Maximum life of a stream: brokers refuse times that their clocks cannot count.
const MAX_LIFE: Duration = Duration::from_hours(100 * 365 * 24);

/// The time after which a stream no longer exists.
#[derive(Clone, Debug)]
pub(super) enum Life {
    /// This time, whatever it was before.
    Exactly(Duration),
    /// This time, unless it is longer already.
    AtLeast(Duration),
    /// This time, and twice the time that is left to another stream, unless it is longer already.
    Outlives { other: String, at_least: Duration },
}

/// The time that is left to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeLeft {
    /// The stream does not exist.
    Missing,
    /// The stream does not expire.
    Endless,
    /// The stream expires after this time.
    Until(Duration),
}

/// The result of a request to append entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// The entries were appended.
    Appended,
    /// A stream that must not exist does, so nothing was appended.
    Exists,
    /// A stream that must exist does not, so nothing was appended.
    Missing,
}

impl Append {
    /// Creates a request without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends nothing if this stream exists. May be called for several streams.
    #[must_use]
    pub fn unless_exists(mut self, stream: impl Into<String>) -> Self {
        self.unless_exists.push(stream.into());
        self
    }

    /// Appends nothing if this stream does not exist. May be called for several streams.
    #[must_use]
    pub fn only_if_exists(mut self, stream: impl Into<String>) -> Self {
        self.only_if_exists.push(stream.into());
        self
    }

    /// Adds an entry to a stream.
    #[must_use]
    pub fn entry(mut self, stream: impl Into<String>, event: impl Into<String>, payload: impl Into<Vec<u8>>) -> Self {
        self.entries.push(NewEntry { stream: stream.into(), event: event.into(), payload: payload.into() });
        self
    }

    /// Sets the time after which a stream no longer exists.
    #[must_use]
    pub fn expire(mut self, stream: impl Into<String>, after: Duration) -> Self {
        self.lives.push((stream.into(), Life::Exactly(after.min(MAX_LIFE))));
        self
    }

    /// Sets the minimum time for which a stream exists. Does not shorten its life, and does not let
    /// an existing stream expire that has no expiry.
    #[must_use]
    pub fn expire_at_least(mut self, stream: impl Into<String>, after: Duration) -> Self {
        self.lives.push((stream.into(), Life::AtLeast(after.min(MAX_LIFE))));
        self
    }

    /// Lets a stream exist at least this long, and twice as long as `other` has left before this
    /// request. If `other` does not expire, a new stream does not expire either.
    #[must_use]
    pub(in crate::remote) fn outlive(
        mut self,
        stream: impl Into<String>,
        other: impl Into<String>,
        at_least: Duration,
    ) -> Self {
        self.lives.push((stream.into(), Life::Outlives { other: other.into(), at_least: at_least.min(MAX_LIFE) }));
        self
    }

    /// Removes the oldest entries of a stream beyond about this number, which may be delivered to
    /// nobody by then.
    #[must_use]
    pub fn max_len(mut self, stream: impl Into<String>, entries: usize) -> Self {
        self.lengths.push((stream.into(), entries));
        self
    }

    /// Returns the name of the first stream, for errors.
    #[cfg(any(feature = "redis", test))]
    pub(super) fn stream(&self) -> &str {
        self.streams().next().unwrap_or_default()
    }

    /// Returns the names of all streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().map(|entry| &*entry.stream);
        let conditions = self.unless_exists.iter().chain(&self.only_if_exists).map(String::as_str);
        entries.chain(conditions).chain(self.lives.iter().map(|(stream, _)| &**stream))
    }

    /// Returns the number of entries that a stream keeps, if it is limited.
    pub(super) fn length_of(&self, stream: &str) -> Option<usize> {
        self.lengths.iter().find(|(name, _)| name == stream).map(|(_, entries)| *entries)
    }

    /// Returns the streams whose time has to be set, by the times that are left before.
    pub(super) fn expiries(&self, left: impl Fn(&str) -> TimeLeft) -> Vec<(&str, Duration)> {
        self.lives.iter().filter_map(|(stream, life)| Some((&**stream, life.after(left(stream), &left)?))).collect()
    }
}

impl Life {
    /// Returns the time to set for a stream to which this time is left; `None` = leave it.
    fn after(&self, own: TimeLeft, left: impl Fn(&str) -> TimeLeft) -> Option<Duration> {
        let after = match self {
            Self::Exactly(after) => return Some(*after),
            Self::AtLeast(after) => *after,
            Self::Outlives { other, at_least } => match (left(other), own) {
                (TimeLeft::Until(left), _) => left.saturating_mul(2).max(*at_least).min(MAX_LIFE),
                (TimeLeft::Endless, TimeLeft::Missing) => return None,
                (TimeLeft::Endless | TimeLeft::Missing, _) => *at_least,
            },
        };
        match own {
            TimeLeft::Missing => Some(after),
            TimeLeft::Endless => None,
            TimeLeft::Until(left) => (left < after).then_some(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Append, TimeLeft};

    #[test]
    fn lives_are_never_shortened() {
        let seconds = Duration::from_secs;
        let append = Append::new().expire_at_least("s", seconds(10)).outlive("m", "r", seconds(10));
        let expiries = |own: TimeLeft, other: TimeLeft| {
            let left = |stream: &str| if stream == "r" { other } else { own };
            append.expiries(left).into_iter().map(|(stream, after)| (stream.to_owned(), after)).collect::<Vec<_>>()
        };
        let set = |of_s: u64, of_m: u64| vec![("s".to_owned(), seconds(of_s)), ("m".to_owned(), seconds(of_m))];
        let until = |left: u64| TimeLeft::Until(seconds(left));
        assert_eq!(expiries(TimeLeft::Missing, TimeLeft::Missing), set(10, 10));
        assert_eq!(expiries(TimeLeft::Missing, until(4)), set(10, 10));
        assert_eq!(expiries(until(9), until(60)), set(10, 120));
        assert_eq!(expiries(until(200), until(60)), []);
        assert_eq!(expiries(TimeLeft::Endless, until(60)), []);
        assert_eq!(expiries(TimeLeft::Missing, TimeLeft::Endless), set(10, 0)[..1]);
    }
}
