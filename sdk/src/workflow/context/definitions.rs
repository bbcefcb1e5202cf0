//! The caller's definitions of the activities and workflows that a workflow calls: name, input and
//! output. Results of this library's own activities are read as JSON first, so that their version
//! can be checked; the results of others are returned unchanged.

use serde_json::Value;
#[cfg(feature = "nexus")]
use temporal_agents_core::wire::nexus_endpoint::{NEXUS_ENDPOINT_ACTIVITY, NexusEndpointRequest};
use temporal_agents_core::wire::{
    MODEL_ACTIVITY, ModelRequest, ToolRequest,
    conversation::{RECORD_ACTIVITY, RecordRequest},
    mcp_call::McpRequest,
    session_call::SessionRequest,
    tool_batch::{TOOL_BATCH_ACTIVITY, ToolBatchRequest},
};
use temporalio_workflow::common::{ActivityDefinition, WorkflowDefinition};

use crate::workflow::effect::json::{Foreign, JsonPayload};

/// The activity that calls a model.
pub(super) struct ModelActivity;

impl ActivityDefinition for ModelActivity {
    type Input = ModelRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        MODEL_ACTIVITY
    }
}

/// The activity that records items.
pub(super) struct RecordActivity;

impl ActivityDefinition for RecordActivity {
    type Input = RecordRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        RECORD_ACTIVITY
    }
}

/// The activity of a tool of this library.
pub(super) struct ToolActivity(pub(super) String);

impl ActivityDefinition for ToolActivity {
    type Input = ToolRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The activity that makes several tool calls.
pub(super) struct ToolBatchActivity;

impl ActivityDefinition for ToolBatchActivity {
    type Input = ToolBatchRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        TOOL_BATCH_ACTIVITY
    }
}

/// An activity that does not belong to this library.
pub(super) struct ExternalActivity(pub(super) String);

impl ActivityDefinition for ExternalActivity {
    type Input = Value;
    type Output = Foreign;

    fn name(&self) -> &str {
        &self.0
    }
}

/// A workflow that does not belong to this library.
pub(super) struct ExternalWorkflow(pub(super) String);

impl WorkflowDefinition for ExternalWorkflow {
    type Input = Value;
    type Output = Foreign;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The activity that looks up a Nexus endpoint.
#[cfg(feature = "nexus")]
pub(super) struct NexusEndpointActivity;

#[cfg(feature = "nexus")]
impl ActivityDefinition for NexusEndpointActivity {
    type Input = NexusEndpointRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        NEXUS_ENDPOINT_ACTIVITY
    }
}

/// The activity of a stored session.
pub(super) struct SessionActivity(pub(super) String);

impl ActivityDefinition for SessionActivity {
    type Input = SessionRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The activity that sends a request to an MCP server.
pub(super) struct McpActivity(pub(super) String);

impl ActivityDefinition for McpActivity {
    type Input = McpRequest;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        &self.0
    }
}

/// The activities that keep and load the state of a run, and the one that loads agents as data.
pub(super) struct StateActivity(pub(super) &'static str);

impl ActivityDefinition for StateActivity {
    type Input = Value;
    type Output = JsonPayload;

    fn name(&self) -> &str {
        self.0
    }
}
