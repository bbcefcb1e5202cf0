use temporal_agents::{agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

#[workflow]
#[derive(Default)]
pub struct Below {
    inbox: AgentInbox,
}

#[workflow_methods]
#[agent_handlers]
impl Below {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

pub struct Alone {
    inbox: AgentInbox,
}

#[agent_handlers]
impl Alone {
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

fn main() {}
