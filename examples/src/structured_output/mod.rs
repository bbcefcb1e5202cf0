//! A letter becomes a ticket: the agent's answer is a value of a Rust type, and an ordinary `match`
//! decides its further processing.
//!
//! The schema of [`Ticket`] goes to the model, including its doc comments. The answer is parsed, or
//! the run fails: the workflow never receives a ticket with missing fields.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, Runner};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// What a customer's letter says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ticket {
    /// The letter in one English sentence.
    pub summary: String,
    /// What it is mostly about.
    pub concern: Concern,
    /// The order it names, e.g. "A-1042".
    pub order: Option<String>,
    /// Everything that is broken or missing, one entry per thing.
    pub faults: Vec<String>,
}

/// What a letter is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Concern {
    /// Something arrived broken, or not at all.
    Delivery,
    /// Money.
    Invoice,
    /// The customer is happy.
    Praise,
}

pub fn mail_clerk() -> Agent<Ticket> {
    Agent::new("mail clerk")
        .model("gpt-5-mini")
        .instructions("You read letters to a mail-order shop and file each one as a ticket.")
        .output::<Ticket>()
}

/// A ticket with the desk that handles it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filed {
    pub ticket: Ticket,
    pub desk: String,
    /// Number of days until the customer gets an answer.
    pub days: u32,
}

#[workflow]
#[derive(Debug, Default)]
pub struct Mail;

#[workflow_methods]
impl Mail {
    /// Files a letter.
    #[run(name = "structured_output")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, letter: String) -> WorkflowResult<Filed> {
        let ticket: Ticket = Runner::new(ctx).run(&mail_clerk(), letter).await?.final_output;
        // No search for keywords in a string: the compiler knows all concerns.
        let (desk, days) = match ticket.concern {
            Concern::Delivery if ticket.order.is_none() => ("post room", 1),
            Concern::Delivery => ("warehouse", 2),
            Concern::Invoice => ("accounts", 5),
            Concern::Praise => ("notice board", 30),
        };
        Ok(Filed { ticket, desk: desk.to_owned(), days })
    }
}
