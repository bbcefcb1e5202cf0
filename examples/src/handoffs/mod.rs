//! A broadband supplier's desk hands off a customer: to billing, which hands back matters other
//! than money, and to a technician, who receives a description of the fault.
//!
//! A handoff is a function that the model calls; the current agent changes, the conversation
//! continues. Handoffs may form a cycle ([`Handoff::to`] names an agent that another part of the
//! graph adds), request a typed input from the model ([`Handoff::on_handoff`]), and change the
//! conversation that the next agent receives ([`Handoff::input_filter`]).

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{
    Agent, Handoff, Instructions, RunContext, Runner, agent::HandoffInputFilter, tool, tool::BoxError,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The invoices of a customer that are not paid, in euros.
#[tool]
async fn open_invoices(customer: String) -> Vec<u32> {
    if customer == "C-77" { vec![39, 59] } else { vec![] } // an activity: query the accounts here
}

/// Measures a line, now.
#[tool(start_to_close = "2m")]
async fn measure_line(customer: String) -> String {
    format!("line of {customer}: no signal behind the street cabinet")
}

/// What the desk tells the technician.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// What does not work.
    pub what: String,
    /// Since when, in the customer's words.
    pub since: String,
}

pub fn desk() -> Agent {
    let billing = Agent::new("billing")
        .model("gpt-5-mini")
        .instructions("You explain invoices. Hand back to the desk what is not about money.")
        .handoff_description("Invoices and payments.")
        .tool(open_invoices)
        .handoff(Handoff::to("desk"));
    let technician = Agent::new("technician")
        .model("gpt-5-mini")
        .instructions(Instructions::computed(|run, _| match run.get::<Fault>("fault") {
            Ok(Some(Fault { what, since })) => format!("You repair lines. Reported: {what}, since {since}."),
            _ => "You repair lines.".to_owned(),
        }))
        .tool(measure_line);
    let to_technician = Handoff::to_agent(technician)
        .on_handoff(|run: &mut RunContext, fault: Fault| -> Result<(), BoxError> { Ok(run.set("fault", fault)?) })
        .input_filter(HandoffInputFilter::remove_all_tools()); // the technician does not need the invoices
    Agent::new("desk")
        .model("gpt-5-mini")
        .instructions("You receive customers. Hand them on, one matter after the other; answer nothing yourself.")
        .handoff(billing)
        .handoff(to_technician)
}

/// The last message to the customer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goodbye {
    pub text: String,
    /// Name of the agent that wrote it.
    pub by: String,
}

#[workflow]
#[derive(Debug, Default)]
pub struct Hotline;

#[workflow_methods]
impl Hotline {
    /// Serves one customer.
    #[run(name = "handoffs")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, complaint: String) -> WorkflowResult<Goodbye> {
        let result = Runner::new(ctx).max_turns(12).run(&desk(), complaint).await?;
        Ok(Goodbye { text: result.final_output, by: result.last_agent })
    }
}
