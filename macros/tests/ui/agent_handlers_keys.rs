use temporal_agents::{agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

#[workflow]
#[derive(Default)]
pub struct Refunds {
    decisions: AgentInbox,
}

#[agent_handlers(inbxo = decisions, field = decisions, name = "refunds", inbox = "decisions", inbox = decisions, crate = "agents")]
#[workflow_methods]
impl Refunds {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

fn main() {}
