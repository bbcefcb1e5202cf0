//! A shop changes its agent while orders are open: open orders keep the tool that they began with,
//! new orders have the new one.
//!
//! The new `order` has the name of the old one and one more parameter. The workflow chooses the
//! agent by a patch, in one line; the worker has both agents, and runs for each call the body of
//! the right version: see [`Tool::versioned`].

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod before;
pub mod model;

use temporal_agents::{Agent, Runner, Tool, agent_handlers, tool, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Orders an article.
#[tool]
async fn order(article: String) -> String {
    format!("{article} is ordered")
}

/// Orders an article in a colour.
#[tool(name = "order")]
async fn order_in_a_colour(article: String, colour: String) -> String {
    format!("{article} is ordered in {colour}")
}

fn base_desk() -> Agent {
    Agent::new("desk").model("gpt-5-mini").instructions("You order what customers want.")
}

/// Returns the agent of open orders.
pub fn desk() -> Agent {
    base_desk().tool(order.needs_approval())
}

/// Returns the agent of new orders.
pub fn desk_v2() -> Agent {
    base_desk().tool(order_in_a_colour.needs_approval().versioned())
}

/// An order. Its worker has both agents: `AgentsPlugin::new(..).agents((desk, desk_v2))`.
#[workflow]
#[derive(Default)]
pub struct Shop {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Shop {
    /// Serves one customer.
    #[run(name = "versions")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, wish: String) -> WorkflowResult<String> {
        let desk = if ctx.patched("colours") { desk_v2() } else { desk() };
        Ok(Runner::with_inbox(ctx).run(&desk, wish).await?.final_output)
    }
}
