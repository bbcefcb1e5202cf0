use temporal_agents::{agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult};

#[workflow]
#[derive(Default)]
pub struct Refunds {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Refunds {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }

    #[query]
    pub fn agent_state(&self, _ctx: &WorkflowContextView) -> usize {
        self.inbox.interruptions().len()
    }

    #[signal(name = "agent_decide")]
    pub fn decide(&mut self, _ctx: &mut SyncWorkflowContext<Self>, _: ()) {}
}

fn main() {}
