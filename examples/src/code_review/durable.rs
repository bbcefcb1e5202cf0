//! The review in the workflow.

use temporal_agents::{Runner, agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{question, reviewer};

/// A workflow of a pull request that runs the reviewer itself.
#[workflow]
#[derive(Default)]
pub struct ReviewedPullRequest {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl ReviewedPullRequest {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, changed: Vec<String>) -> WorkflowResult<String> {
        let runner = Runner::with_inbox(ctx);
        Ok(runner.run(&reviewer(), question(&changed)).await?.final_output)
    }
}
