//! The transports of a worker's deltas.

use clap::ValueEnum;
use temporal_agents::{
    AgentsPlugin,
    worker::{HeartbeatDeltas, InProcessDeltas, WorkflowStreamDeltas},
};

/// The transport of a worker's deltas, named on the command line as its variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// No transport: the models do not stream.
    Off,
    /// A function in the process of the worker, which drops the deltas.
    InProcess,
    /// The heartbeats of the activity.
    Heartbeat,
    /// The stream of the workflow.
    WorkflowStream,
}

impl Transport {
    /// Returns `true` if a reader in another process receives the deltas.
    pub fn crosses_processes(self) -> bool {
        !matches!(self, Self::Off | Self::InProcess)
    }

    /// Returns the name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Sets the transport of a worker.
    pub(super) fn install(self, plugin: AgentsPlugin) -> AgentsPlugin {
        match self {
            Self::Off => plugin,
            Self::InProcess => plugin.deltas(InProcessDeltas::new(|_| ())),
            Self::Heartbeat => plugin.deltas(HeartbeatDeltas::new()),
            Self::WorkflowStream => plugin.deltas(WorkflowStreamDeltas::new()),
        }
    }
}
