//! A tool that runs at a client: at a desk, in a browser, in an editor.
//!
//! A call of it pauses the run, durably, until a client that knows the workflow's id supplies the
//! output (see [`answer`]). Meanwhile no worker is busy, and no worker has to run. The supplied
//! output passes the tool's output guardrails before the model receives it.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod answer;
pub mod model;

use temporal_agents::{
    Agent, Runner, Tool, agent_handlers, tool,
    tool::{ToolGuardrailOutput, ToolOutputGuardrail},
    wire::ToolOutput,
    workflow::AgentInbox,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Lets the guest choose one of several tables on the plan of the house; gives its number.
///
/// # Arguments
/// * `tables` - the numbers of the tables that are free
#[tool(client)]
fn choose_table(tables: Vec<u32>) -> u32;

/// Returns a guardrail that accepts only a number, whatever the guest's client sends.
fn is_a_table() -> ToolOutputGuardrail {
    ToolOutputGuardrail::new("is_a_table", |_ctx, output| match output {
        ToolOutput::Text(text) if text.parse::<u32>().is_ok() => ToolGuardrailOutput::allow(),
        _ => ToolGuardrailOutput::reject_content("The guest has not chosen a table. Ask again."),
    })
}

pub fn host() -> Agent {
    Agent::new("host")
        .model("gpt-5-mini")
        .instructions("You seat guests. Tables 3, 5 and 8 are free. Let the guest choose.")
        .tool(choose_table.output_guardrail(is_a_table()))
}

#[workflow]
#[derive(Default)]
pub struct Seating {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Seating {
    /// Seats a guest.
    #[run(name = "client_tools")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, wish: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&host(), wish).await?.final_output)
    }
}
