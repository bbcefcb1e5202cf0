//! What a worker is asked about a Nexus endpoint, and answers.

use crate::wire::{
    WIRE_VERSION,
    nexus_endpoint::{NexusEndpointReply, NexusEndpointRequest},
};

pub(in crate::wire::tests) fn nexus_endpoint_request() -> NexusEndpointRequest {
    NexusEndpointRequest { version: WIRE_VERSION, endpoint: "freight-endpoint".to_owned() }
}

pub(in crate::wire::tests) fn nexus_endpoint_reply() -> NexusEndpointReply {
    NexusEndpointReply { version: WIRE_VERSION, callable: true }
}
