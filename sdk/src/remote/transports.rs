//! The transports of remote tools that a process has, by name.

use std::{collections::BTreeMap, sync::Arc};

use temporal_agents_core::{tool::ActivityBody, wire::remote_call::RemoteTarget};

use super::{
    device::{self, DeviceGateway},
    executor,
    providers_at_work::ProvidersAtWork,
    transport::Streams,
};

/// The way to a remote tool.
#[derive(Clone)]
pub(crate) enum ToolTransport {
    /// Streams that providers read, and the toolsets known to have a provider at work.
    Streams(Arc<dyn Streams>, ProvidersAtWork),
    /// Connections that some process holds.
    Devices(DeviceGateway),
}

impl ToolTransport {
    /// Creates the transport over these streams.
    pub(crate) fn from_streams(streams: impl Streams) -> Self {
        Self::Streams(Arc::new(streams), ProvidersAtWork::default())
    }

    /// Returns the body of the activity that calls this tool.
    pub(crate) fn body(&self, target: RemoteTarget) -> ActivityBody {
        match self {
            Self::Streams(streams, at_work) => executor::body(streams, at_work, target),
            Self::Devices(gateway) => device::body(gateway, target),
        }
    }
}

/// The transports of a process, by name.
#[derive(Clone, Default)]
pub(crate) struct ToolTransports(BTreeMap<String, ToolTransport>);

impl ToolTransports {
    pub(crate) fn add(&mut self, name: String, transport: ToolTransport) {
        self.0.insert(name, transport);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ToolTransport> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &ToolTransport)> {
        self.0.iter().map(|(name, transport)| (&**name, transport))
    }
}
