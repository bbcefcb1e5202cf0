//! The workflow before the deploy, with one agent.

use temporal_agents::{Runner, agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::desk;

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
        Ok(Runner::with_inbox(ctx).run(&desk(), wish).await?.final_output)
    }
}
