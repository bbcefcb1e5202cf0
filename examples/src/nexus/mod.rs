//! Tools of another team: operations of a Nexus service, in Python, in another company.
//!
//! The agent names an endpoint, a service, its operations and their arguments; the handler
//! (`handler.py`) implements the operations. One operation completes at once, the other is a
//! workflow of any duration. The tool is like any other, with approvals, guardrails and failures: a
//! quote that the freight company rejects is an ordinary output.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod handler;
pub mod model;

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::{
    Agent, Runner, ToolDef,
    tool::{NexusOperation, OnToolError, ToolFailureKind},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Name of the endpoint in the server's registry.
pub const ENDPOINT: &str = "freight-endpoint";

fn freight() -> Value {
    json!({
        "type": "object",
        "properties": {
            "to": {"type": "string", "description": "the city"},
            "pallets": {"type": "integer", "minimum": 1},
        },
        "required": ["to", "pallets"],
    })
}

pub fn dispatcher() -> Agent {
    let quote = NexusOperation::named(ENDPOINT, "Freight", "quote").schedule_to_close(Duration::from_secs(30));
    // It may take days, so it has no timeout. Its handler prevents a second lorry for a repeated
    // call.
    let carry = NexusOperation::named(ENDPOINT, "Freight", "carry").idempotent(false);
    let told = OnToolError::by_kind(|_call, failure| match failure.kind {
        ToolFailureKind::Failed => Some("The freight company does not go there.".to_owned()),
        _ => None,
    });
    Agent::new("dispatcher")
        .model("gpt-5-mini")
        .instructions("You send goods. Ask what each city costs, then send them to the cheapest.")
        .tool(ToolDef::nexus_operation("quote", "What pallets to a city cost.", freight(), quote).with_on_error(told))
        .tool(ToolDef::nexus_operation("carry", "Sends pallets to a city.", freight(), carry))
}

#[workflow]
#[derive(Default)]
pub struct Dispatch;

#[workflow_methods]
impl Dispatch {
    #[run(name = "nexus")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&dispatcher(), request).await?.final_output)
    }
}
