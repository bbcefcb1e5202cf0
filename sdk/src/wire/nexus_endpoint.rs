//! What a workflow asks its worker about a Nexus endpoint, before it calls the first operation there.
//!
//! A server refuses a workflow task that calls an endpoint it does not have, and the task is tried again for ever. So the worker
//! looks it up first, in an activity, and history has what it found.

use serde::{Deserialize, Serialize};

use super::version::{Versioned, WireVersion};

/// The type of the activity that looks an endpoint up.
pub const NEXUS_ENDPOINT_ACTIVITY: &str = "agents.nexus_endpoint";

/// Asks whether the server has an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NexusEndpointRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Its name.
    pub endpoint: String,
}

/// Whether the server has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NexusEndpointReply {
    /// The version of this message.
    pub version: WireVersion,
    /// False when the server has none of that name; true also when it does not say, for then the call has to show it.
    pub callable: bool,
}

impl Versioned for NexusEndpointReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
