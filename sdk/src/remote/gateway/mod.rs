//! A gateway in front of remote tools: it knows the registered toolsets, checks each call before it
//! is published, and refuses those whose toolset has no provider at work.
//!
//! | file | contents |
//! |---|---|
//! | here | the gateway: its settings, its catalogue, its health checks |
//! | `call.rs` | one call: the order of its checks, and its publication |
//! | `result.rs` | the result of a call, unread |
//! | `serve.rs` | reads registrations, and sends pings |
//! | `registration.rs` | the stream of registrations, and its messages |
//! | `toolset.rs`, `limits.rs` | a toolset as it is registered, and its limits |
//! | `catalogue.rs`, `search.rs` | toolsets by name, by tag, by words |
//! | `health.rs` | which toolsets have a provider at work |
//! | `source.rs` | the toolsets that a run selects |
//! | `error.rs` | the errors of calls |
//!
//! # Design
//! **There is no server and no call protocol.** Providers append `register`, `unregister` and
//! `pong` to the stream `toolregistry:registrations`; every gateway reads it from the oldest entry
//! on, and has a catalogue of its own. So gateways need no agreement and no storage: any number of
//! them may run, in the processes that call tools. Whoever may append to the stream may register,
//! as whoever may append to a result stream may answer a call: the broker decides who that is.
//!
//! **Nothing has to last.** The stream is limited to about 10,000 entries, and expires an hour
//! after its last one. A provider registers again every 30 seconds, so that a broker that has lost
//! everything, and a gateway that starts, know all toolsets within that time.
//!
//! **Only a pong that arrives makes a toolset healthy.** A gateway that starts reads the pongs of
//! the past, but their age is unknown to it, as clocks differ between machines. It ignores them,
//! sends a ping to every toolset that it finds, and refuses calls until the first pong.
//!
//! **A call is checked where it is made.** The checks cost no request to the broker. A toolset
//! whose provider is lost is refused after 40 seconds; a call that is published before waits in the
//! request stream for the next provider.
//!
//! # Source
//! goa-ai's tool registry, as documented before its version 8: the order of the checks, the rules
//! of health, and the messages of calls. Its registrations are remote procedure calls; those here
//! have the same members, as messages.

mod call;
mod catalogue;
mod error;
mod health;
mod limits;
mod registration;
mod result;
mod search;
mod serve;
mod source;
mod toolset;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use self::health::HealthTracker;
pub(crate) use self::registration::Registration;
pub use self::{
    call::GatewayCall,
    catalogue::Catalogue,
    error::GatewayError,
    toolset::{RegistrationError, Toolset},
};
use super::{
    clock::Clock,
    transport::{StreamError, Streams},
};

/// Default time for which a result stream exists.
const RETENTION: Duration = Duration::from_mins(15);

/// Shortest and longest time between two pings.
const PING_INTERVALS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(10));

/// A gateway in front of the toolsets that providers register over these streams.
///
/// It knows no toolset until [`serve`](Self::serve) runs. Clones share the catalogue, so one clone
/// serves while others make calls.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::remote::{
///     gateway::{Gateway, GatewayError},
///     transport::MemoryTransport,
/// };
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let gateway = Gateway::new(MemoryTransport::new());
/// let serving = tokio::spawn({
///     let gateway = gateway.clone();
///     async move { gateway.serve(std::future::pending()).await }
/// });
/// let call = gateway.call("demo", "echo", json!({"text": "hello"})).await;
/// assert!(matches!(call, Err(GatewayError::ToolsetNotFound { .. })), "no provider is there");
/// # serving.abort();
/// # }
/// ```
#[derive(Clone)]
pub struct Gateway {
    streams: Arc<dyn Streams>,
    state: Arc<Mutex<State>>,
    clock: Clock,
    retention: Duration,
}

/// The toolsets that a gateway knows.
#[derive(Debug, Default)]
struct State {
    catalogue: Catalogue,
    health: HealthTracker,
}

impl Gateway {
    /// Creates a gateway over these streams.
    pub fn new(streams: impl Streams) -> Self {
        Self { streams: Arc::new(streams), state: Arc::default(), clock: Clock::start(), retention: RETENTION }
    }

    /// Sets the time between two pings of a toolset, from 2 s to 10 min. Default 10 s. A toolset is
    /// unhealthy once its last pong is older than four times this time.
    #[must_use]
    pub fn ping_interval(self, interval: Duration) -> Self {
        self.state().health.ping_interval = interval.clamp(PING_INTERVALS.0, PING_INTERVALS.1);
        self
    }

    /// Sets the time for which the result of a call can be read, from the call on. Default 15
    /// minutes.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    /// Returns a copy of the catalogue, as it is now.
    pub fn catalogue(&self) -> Catalogue {
        self.state().catalogue.clone()
    }

    /// Checks that a toolset is registered, and has a provider at work.
    ///
    /// # Errors
    /// [`GatewayError::ToolsetNotFound`] or [`GatewayError::Unhealthy`].
    pub fn health(&self, toolset: &str) -> Result<(), GatewayError> {
        let state = self.state();
        if state.catalogue.get(toolset).is_none() {
            return Err(GatewayError::toolset_not_found(toolset));
        }
        let checked = state.health.check(toolset, self.clock.now());
        checked.map_err(|unhealthy| GatewayError::unhealthy(toolset, unhealthy))
    }

    /// Registers a toolset on behalf of a provider that cannot do so itself. All gateways over
    /// these streams know it once they have read the message, and forget it an hour after its last
    /// registration and pong.
    ///
    /// # Errors
    /// [`RegistrationError`] if the toolset is refused, or the message cannot be published.
    pub async fn register(&self, toolset: Toolset) -> Result<(), RegistrationError> {
        toolset.check()?;
        let name = toolset.name.clone();
        let published = self.publish(&Registration::Register(Box::new(toolset))).await;
        published.map_err(|source| RegistrationError::Unpublished { toolset: name, source })
    }

    /// Removes a toolset from the catalogues of all gateways over these streams, until a provider
    /// registers it again.
    ///
    /// # Errors
    /// [`StreamError`], if the message cannot be published.
    pub async fn unregister(&self, toolset: &str) -> Result<(), StreamError> {
        self.publish(&Registration::Unregister { name: toolset.to_owned() }).await
    }

    async fn publish(&self, registration: &Registration) -> Result<(), StreamError> {
        self.streams.append(registration.append()?).await.map(drop)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("state", &self.state()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
