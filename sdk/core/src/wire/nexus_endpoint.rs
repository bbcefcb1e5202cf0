//! The lookup of a Nexus endpoint by the worker, before a workflow calls its first operation there.
//!
//! A server refuses a workflow task that calls an endpoint it does not have, and the task is
//! retried forever. So the worker looks up the endpoint first, in an activity, and history contains
//! the result.

use serde::{Deserialize, Serialize};

use super::version::{Versioned, WireVersion};

/// Type of the activity that looks up an endpoint.
pub const NEXUS_ENDPOINT_ACTIVITY: &str = "agents.nexus_endpoint";

/// A request to look up an endpoint at the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NexusEndpointRequest {
    /// The version of this message.
    pub version: WireVersion,
    /// Name of the endpoint.
    pub endpoint: String,
}

/// The result of the lookup of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NexusEndpointReply {
    /// The version of this message.
    pub version: WireVersion,
    /// `false` if the server has no endpoint of that name. `true` also if the server refuses the
    /// lookup: the call then shows whether the endpoint exists.
    pub callable: bool,
}

impl Versioned for NexusEndpointReply {
    fn version(&self) -> WireVersion {
        self.version
    }
}
