//! Channels in Redis: publish and subscribe, and keys that expire.
//!
//! # Design
//! **Each subscription has a connection of its own**, which ends with it. A lost connection ends
//! the subscription, so that nobody waits for messages that Redis does not send again.

use std::time::Duration;

use ::redis::{RedisError, cmd};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use tokio::time::timeout;

use super::{RedisTransport, millis, reason_of, unavailable};
use crate::remote::transport::{Channels, StreamError, Subscription, checked};

/// Longest time to connect and to subscribe.
const SUBSCRIBE: Duration = Duration::from_secs(5);

/// Deletes a key that has this value.
const REMOVE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";

impl Channels for RedisTransport {
    fn publish<'a>(&'a self, channel: &'a str, message: Vec<u8>) -> BoxFuture<'a, Result<usize, StreamError>> {
        async move {
            checked(channel)?;
            self.ask(channel, Duration::ZERO, cmd("PUBLISH").arg(channel).arg(message)).await
        }
        .boxed()
    }

    fn subscribe<'a>(&'a self, channel: &'a str) -> BoxFuture<'a, Result<Subscription, StreamError>> {
        async move {
            checked(channel)?;
            let subscribing = async {
                let mut messages = self.pool.client().get_async_pubsub().await?;
                messages.subscribe(channel).await?;
                Ok::<_, RedisError>(messages)
            };
            let messages = match timeout(SUBSCRIBE, subscribing).await {
                Ok(Ok(messages)) => messages,
                Ok(Err(error)) => return Err(unavailable(channel, reason_of(&error))),
                Err(_) => return Err(unavailable(channel, "no answer in time".to_owned())),
            };
            let (sink, messages) = messages.split();
            // The connection lives as long as its sink.
            let messages = stream::unfold((sink, messages), |(sink, mut messages)| async move {
                messages.next().await.map(|message| (message.get_payload_bytes().to_vec(), (sink, messages)))
            });
            Ok(Subscription::new(messages))
        }
        .boxed()
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>, keep: Duration) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            checked(key)?;
            let mut set = cmd("SET");
            set.arg(key).arg(value).arg("PX").arg(millis(keep).max(1));
            self.ask(key, Duration::ZERO, &set).await
        }
        .boxed()
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, StreamError>> {
        async move {
            checked(key)?;
            self.ask(key, Duration::ZERO, cmd("GET").arg(key)).await
        }
        .boxed()
    }

    fn remove<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, Result<(), StreamError>> {
        async move {
            checked(key)?;
            let mut remove = cmd("EVAL");
            remove.arg(REMOVE).arg(1).arg(key).arg(value);
            self.ask::<i64>(key, Duration::ZERO, &remove).await.map(drop)
        }
        .boxed()
    }
}
