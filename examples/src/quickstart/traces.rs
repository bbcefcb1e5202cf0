//! Traces of the quickstart: with the feature `otel`, to the collector that
//! `OTEL_EXPORTER_OTLP_ENDPOINT` names.

#[cfg(feature = "otel")]
use temporal_agents::trace::Tracing;
#[cfg(feature = "otel")]
use temporal_agents_testing::ServerAddress;
#[cfg(feature = "otel")]
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};

use temporal_agents::AgentsPlugin;

/// The traces of a worker.
#[derive(Clone, Debug)]
pub struct Traces {
    #[cfg(feature = "otel")]
    tracing: Tracing,
}

impl Traces {
    /// Sets the traces of a worker up.
    ///
    /// # Errors
    /// The server cannot be reached, or the collector's URL is malformed.
    #[cfg(feature = "otel")]
    pub async fn set_up(address: &str, namespace: &str) -> anyhow::Result<Self> {
        let url = ServerAddress::parse("the address", address)?.url();
        let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
        let client = Client::new(connection, ClientOptions::new(namespace).build())?;
        Ok(Self { tracing: Tracing::from_env(&client)? })
    }

    /// Sets no traces up: the feature `otel` is off.
    ///
    /// # Errors
    /// None.
    #[cfg(not(feature = "otel"))]
    #[expect(clippy::unused_async, reason = "it is async with the feature")]
    pub async fn set_up(_address: &str, _namespace: &str) -> anyhow::Result<Self> {
        Ok(Self {})
    }

    /// Returns a plugin whose worker sends them.
    #[must_use]
    pub fn of(&self, plugin: AgentsPlugin) -> AgentsPlugin {
        #[cfg(feature = "otel")]
        let plugin = plugin.tracing(&self.tracing);
        plugin
    }

    /// Waits until they are sent.
    #[cfg_attr(not(feature = "otel"), expect(clippy::unused_async, reason = "it is async with the feature"))]
    pub async fn flush(&self) {
        #[cfg(feature = "otel")]
        self.tracing.flush().await;
    }
}
