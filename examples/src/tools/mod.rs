//! A bicycle workshop with a tool of each kind, which differ in the place where the body runs, in
//! its permitted operations, and in its failures.
//!
//! | tool | place of the body |
//! |---|---|
//! | `price` | in the workflow, at once: pure |
//! | `let_glue_dry` | in the workflow, where it waits for a timer: for minutes or for weeks |
//! | `page_of_manual` | in a local activity: fast, without a separate task |
//! | `parts_on_shelf` | in an activity, with a state of the worker |
//! | `free_days`, `book` | in activities that share a state: a set |
//! | `order_part` | in an activity, after a person has approved the call |

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use temporal_agents::{
    Agent, Runner, State, Tool, ToolContext, ToolError, agent_handlers, tool,
    tool::{WorkflowToolContext, WorkflowToolError},
    tools,
    workflow::AgentInbox,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The urgency of a repair.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Urgency {
    Today,
    ThisWeek,
}

/// The price of a repair, in euros.
///
/// # Arguments
/// * `hours` - hours of work
#[tool(inline)]
fn price(hours: u32, urgency: Urgency) -> u32 {
    match urgency {
        Urgency::Today => 60 * hours,
        Urgency::ThisWeek => 40 * hours,
    }
}

/// Waits until the glue on a tyre is dry.
#[tool(workflow)]
async fn let_glue_dry(ctx: &mut WorkflowToolContext, seconds: u64) -> Result<String, WorkflowToolError> {
    ctx.sleep(Duration::from_secs(seconds.min(600))).await?; // durable: no worker is busy while it waits
    Ok("dry".to_owned())
}

/// A page of the manual of a bicycle.
#[tool(local)]
async fn page_of_manual(page: u32) -> Result<String, ToolError> {
    // `?` converts any error to a failure. The model receives the fact, not the reason: paths and
    // addresses stay on the worker.
    let pages = [("Chains", 1), ("Tyres", 2)];
    let found =
        pages.iter().find(|(_, number)| *number == page).ok_or_else(|| std::io::Error::other("no such page"))?;
    Ok(format!("{}: see the drawing", found.0))
}

/// The stock of the shelf: number of pieces by part.
#[derive(Clone, Debug, Default)]
pub struct Shelf(pub BTreeMap<String, u32>);

/// Pieces of a part on the shelf.
#[tool(start_to_close = "5s")]
async fn parts_on_shelf(State(shelf): State<Shelf>, part: String) -> Result<u32, ToolError> {
    let pieces = shelf.0.get(&part).copied();
    // The model receives this message, and can retry with another name.
    pieces.ok_or_else(|| ToolError::tell_model(format!("no {part:?}; there are {:?}", shelf.0.keys())))
}

/// Orders a part from the supplier.
#[tool(attempts = 5)]
async fn order_part(ctx: &ToolContext, part: String, euros: u32) -> Result<String, ToolError> {
    if ctx.info().attempt == 1 {
        // Temporal retries the call, and the model is not informed.
        return Err(ToolError::transient("the supplier does not pick up the phone"));
    }
    Ok(format!("{part} is ordered for {euros} euros"))
}

/// The days on which bicycles are repaired.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    booked: Arc<Mutex<Vec<String>>>,
}

#[tools]
impl Calendar {
    /// Days without a booking.
    #[tool]
    async fn free_days(&self) -> Vec<String> {
        let is_free = |day: &&str| !self.booked().contains(&(**day).to_owned());
        ["Thursday", "Friday"].iter().filter(|day| is_free(day)).map(|day| (*day).to_owned()).collect()
    }

    /// Books a day for a repair.
    #[tool(idempotent = false)]
    async fn book(&self, day: String) -> Result<String, ToolError> {
        self.booked.lock().map_err(|_| ToolError::failed("the calendar is torn"))?.push(day.clone());
        Ok(format!("{day} is booked"))
    }

    /// Returns the booked days: an ordinary method, without `#[tool]`.
    pub fn booked(&self) -> Vec<String> {
        self.booked.lock().map(|days| days.clone()).unwrap_or_default()
    }
}

pub fn mechanic() -> Agent {
    Agent::new("mechanic")
        .model("gpt-5-mini")
        .instructions("You run a bicycle workshop. Look up what you need, order what is missing, and book a day.")
        .tool(price)
        .tool(let_glue_dry)
        .tool(page_of_manual)
        .tool(parts_on_shelf)
        .tool(order_part.needs_approval())
        .tools(Calendar::tools())
}

#[workflow]
#[derive(Default)]
pub struct Workshop {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Workshop {
    /// Takes a bicycle in.
    #[run(name = "tools")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&mechanic(), request).await?.final_output)
    }
}
