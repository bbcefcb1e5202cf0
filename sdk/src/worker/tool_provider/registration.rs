//! The registration of a provider's toolset at gateways.
//!
//! # Design
//! **A provider repeats its registration** for as long as it serves, and answers each ping with a
//! pong. So after the broker has lost everything, all gateways know the toolset again within one
//! interval, without anyone's help; the group of consumers is created again by then, too.
//!
//! **A provider never unregisters its toolset.** Others may serve the same toolset, and it cannot
//! know. When the last one ends, pongs end with it: gateways refuse calls after 40 seconds, and
//! forget the toolset after an hour.
//!
//! **A provider that is busy reports it.** While all its calls are in progress it takes no
//! requests, and so reads no pings. It sends pongs without a ping meanwhile, so that calls wait in
//! the stream instead of being refused.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::Value;
use temporal_agents_core::{tool::ToolDef, wire::RemoteTool};
use tokio::time::{sleep, timeout};

use super::{Shared, ToolProvider};
use crate::remote::gateway::{Registration, RegistrationError, Toolset};

/// Default time between two registrations.
pub(super) const REGISTRATION_INTERVAL: Duration = Duration::from_secs(30);

/// Shortest time between two registrations.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

/// Time between two pongs of a provider that is busy.
pub(super) const BUSY_PONG_INTERVAL: Duration = Duration::from_secs(5);

/// Longest time to send a pong.
const PONG_TIMEOUT: Duration = Duration::from_secs(2);

impl ToolProvider {
    /// Registers the toolset at the [gateways](crate::remote::gateway::Gateway) over the same
    /// streams, for as long as the provider serves. Unless `toolset` has tools, they are those of
    /// the registry, with their names, descriptions and schemas.
    ///
    /// The toolset stays registered when the provider ends, because others may serve it; without
    /// any it is unhealthy after 40 s.
    ///
    /// ```
    /// use temporal_agents::{remote::{gateway::Toolset, transport::MemoryTransport}, tool};
    /// use temporal_agents::worker::{ToolProvider, ToolRegistry};
    ///
    /// /// Returns its text.
    /// #[tool]
    /// async fn echo(text: String) -> String {
    ///     text
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let tools = ToolRegistry::default().register(echo)?;
    /// let provider = ToolProvider::new("demo", tools, MemoryTransport::new())
    ///     .registered(Toolset::new("demo", "1.0.0").description("Tools to try out."))?;
    /// # let _ = provider;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RegistrationError`], if the toolset has another name than that of the provider, or breaks
    /// a rule of [`Toolset`].
    pub fn registered(mut self, toolset: Toolset) -> Result<Self, RegistrationError> {
        if toolset.name != self.toolset {
            let problem = format!("the provider serves toolset {:?}; describe that one", self.toolset);
            return Err(RegistrationError::Toolset { toolset: toolset.name, problem });
        }
        let toolset =
            if toolset.tools.is_empty() { toolset.tools(self.registry.iter().map(described)) } else { toolset };
        toolset.check()?;
        self.registered = Some(toolset);
        Ok(self)
    }

    /// Sets the time between two registrations, at least 1 s. Default 30 s.
    #[must_use]
    pub fn registration_interval(mut self, interval: Duration) -> Self {
        self.registration_interval = interval.max(SHORTEST_INTERVAL);
        self
    }
}

impl Shared {
    /// Registers the toolset at this interval, if it is to be registered. Does not return.
    pub(super) async fn keep_registered(&self, toolset: Option<Toolset>, interval: Duration) {
        let Some(toolset) = toolset else { return std::future::pending().await };
        let registration = Registration::Register(Box::new(toolset));
        loop {
            let appended = match registration.append() {
                Ok(append) => self.streams.append(append).await,
                Err(error) => Err(error),
            };
            if self.succeeded("the toolset cannot be registered", appended).await.is_some() {
                sleep(interval).await;
            }
        }
    }

    /// Answers a ping; one attempt, as a pong that is lost is a missed one.
    pub(super) async fn answer_ping(&self, ping_id: String) {
        self.is_watched.store(true, Ordering::Relaxed);
        self.pong(ping_id).await;
    }

    /// Sends a pong without a ping, if gateways watch the toolset.
    pub(super) async fn pong_while_busy(&self) {
        if self.is_watched.load(Ordering::Relaxed) {
            self.pong(String::new()).await;
        }
    }

    async fn pong(&self, ping_id: String) {
        let pong = Registration::Pong { toolset: self.toolset.clone(), ping_id };
        let sent = async { self.streams.append(pong.append()?).await };
        match timeout(PONG_TIMEOUT, sent).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(toolset = self.toolset, %error, "a pong cannot be sent"),
            Err(_) => tracing::warn!(toolset = self.toolset, "a pong could not be sent in time"),
        }
    }
}

/// Returns the description of a tool.
fn described(tool: &ToolDef) -> RemoteTool {
    let described = RemoteTool::new(tool.name(), tool.description(), tool.accepts().clone());
    let described = if tool.is_idempotent() { described.idempotent() } else { described };
    let described = match tool.declared_output_schema() {
        Some(schema) => described.result_schema(Value::clone(schema)),
        None => described,
    };
    if tool.is_bounded() { described.bounded() } else { described }
}

#[cfg(test)]
mod tests;
