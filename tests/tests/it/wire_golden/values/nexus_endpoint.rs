//! What a worker is asked about a Nexus endpoint, and answers.

use temporal_agents::{
    internal::wire::nexus_endpoint::{NexusEndpointReply, NexusEndpointRequest},
    wire::WIRE_VERSION,
};

pub(in crate::wire_golden) fn nexus_endpoint_request() -> NexusEndpointRequest {
    NexusEndpointRequest { version: WIRE_VERSION, endpoint: "freight-endpoint".to_owned() }
}

pub(in crate::wire_golden) fn nexus_endpoint_reply() -> NexusEndpointReply {
    NexusEndpointReply { version: WIRE_VERSION, callable: true }
}
