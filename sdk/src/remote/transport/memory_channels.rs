//! Channels in the memory of one process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture, stream};
use tokio::{sync::mpsc, time::Instant};

use super::{Channels, MemoryTransport, StreamError, Subscription, checked};

/// The listeners and the values of a process.
#[derive(Debug, Default)]
pub(super) struct MemoryChannels {
    listeners: Mutex<BTreeMap<String, Vec<mpsc::UnboundedSender<Vec<u8>>>>>,
    values: Mutex<BTreeMap<String, (Vec<u8>, Instant)>>,
}

impl MemoryChannels {
    /// Ends all subscriptions, and deletes all values.
    pub(super) fn clear(&self) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
        self.values.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn publish(&self, channel: &str, message: &[u8]) -> usize {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(of_channel) = listeners.get_mut(channel) else { return 0 };
        of_channel.retain(|listener| listener.send(message.to_vec()).is_ok());
        of_channel.len()
    }

    fn subscribe(&self, channel: &str) -> mpsc::UnboundedReceiver<Vec<u8>> {
        let (sender, receiver) = mpsc::unbounded_channel();
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|_, of_channel| {
            of_channel.retain(|listener| !listener.is_closed());
            !of_channel.is_empty()
        });
        listeners.entry(channel.to_owned()).or_default().push(sender);
        receiver
    }
}

impl Channels for MemoryTransport {
    fn publish<'a>(&'a self, channel: &'a str, message: Vec<u8>) -> BoxFuture<'a, Result<usize, StreamError>> {
        async move {
            checked(channel)?;
            Ok(self.channels().publish(channel, &message))
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Subscription, StreamError>> {
        async move {
            checked(channel)?;
            let receiver = self.channels().subscribe(channel);
            let next = |mut receiver: mpsc::UnboundedReceiver<Vec<u8>>| async move {
                receiver.recv().await.map(|message| (message, receiver))
            };
            Ok(Subscription::new(stream::unfold(receiver, next)))
        }
        .boxed()
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, keep: Duration) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            checked(key)?;
            let mut values = self.channels().values.lock().unwrap_or_else(PoisonError::into_inner);
            values.insert(key.to_owned(), (value, Instant::now() + keep));
            Ok(())
        }
        .boxed()
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StreamError>> {
        async move {
            checked(key)?;
            let mut values = self.channels().values.lock().unwrap_or_else(PoisonError::into_inner);
            values.retain(|_, (_, until)| *until > Instant::now());
            Ok(values.get(key).map(|(value, _)| value.clone()))
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            checked(key)?;
            let mut values = self.channels().values.lock().unwrap_or_else(PoisonError::into_inner);
            if values.get(key).is_some_and(|(kept, _)| *kept == value) {
                values.remove(key);
            }
            Ok(())
        }
        .boxed()
    }
}
