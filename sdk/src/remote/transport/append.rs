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
    pub(super) unless_exists: Option<String>,
    pub(super) entries: Vec<NewEntry>,
    pub(super) expiries: Vec<(String, Duration)>,
    pub(super) lengths: Vec<(String, usize)>,
}

/// An entry that has no id yet.
#[derive(Clone, Debug)]
pub(super) struct NewEntry {
    pub(super) stream: String,
    pub(super) event: String,
    pub(super) payload: Vec<u8>,
}

/// The result of a request to append entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Appended {
    /// The entries were appended.
    Appended,
    /// The stream that must not exist does, so nothing was appended.
    Exists,
}

impl Append {
    /// Creates a request without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends nothing if this stream exists.
    #[must_use]
    pub fn unless_exists(mut self, stream: impl Into<String>) -> Self {
        self.unless_exists = Some(stream.into());
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
        self.expiries.push((stream.into(), after));
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
        self.entries.first().map_or("", |entry| &entry.stream)
    }

    /// Returns the names of all streams.
    pub(super) fn streams(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.iter().map(|entry| &*entry.stream);
        entries.chain(self.unless_exists.as_deref())
    }

    /// Returns the number of entries that a stream keeps, if it is limited.
    pub(super) fn length_of(&self, stream: &str) -> Option<usize> {
        self.lengths.iter().find(|(name, _)| name == stream).map(|(_, entries)| *entries)
    }
}
