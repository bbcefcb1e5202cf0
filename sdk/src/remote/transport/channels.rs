//! Channels: messages to whoever listens now, and values that expire. Devices are reached by them.

use std::{fmt, time::Duration};

use futures::{Stream, StreamExt, future::BoxFuture, stream::BoxStream};

use super::StreamError;

/// Channels that processes share, and values that expire.
///
/// A message reaches those who listen at that time, and nobody later. Names are those of streams:
/// see [`StreamError::Name`].
pub trait Channels: Send + Sync + 'static {
    /// Sends a message to all who listen to a channel; returns their number.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`]; [`StreamError::Ambiguous`] if the message may have been sent.
    fn publish<'a>(&'a self, channel: &'a str, message: Vec<u8>) -> BoxFuture<'a, Result<usize, StreamError>>;

    /// Listens to a channel. Once this returns, no message is missed until the subscription ends.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`].
    fn subscribe<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Subscription, StreamError>>;

    /// Sets a value that expires after this time.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`] or [`StreamError::Ambiguous`].
    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, keep: Duration) -> BoxFuture<'a, Result<(), StreamError>>;

    /// Returns a value that has not expired.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`].
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StreamError>>;

    /// Deletes a value, if it is still this one.
    ///
    /// # Errors
    /// [`StreamError::Unavailable`] or [`StreamError::Ambiguous`].
    fn remove<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), StreamError>>;
}

/// A subscription to a channel; it ends when it is dropped, or when its connection is lost.
pub struct Subscription(BoxStream<'static, Vec<u8>>);

impl Subscription {
    /// Creates a subscription that yields these messages.
    pub fn new(messages: impl Stream<Item = Vec<u8>> + Send + 'static) -> Self {
        Self(messages.boxed())
    }

    /// Returns the next message; `None` once the connection is lost.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        self.0.next().await
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}
