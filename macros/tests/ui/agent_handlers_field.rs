use temporal_agents::{agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

#[workflow]
#[derive(Default)]
pub struct Missing;

#[agent_handlers]
#[workflow_methods]
impl Missing {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

#[workflow]
#[derive(Default)]
pub struct Renamed {
    decisions: AgentInbox,
}

#[agent_handlers(inbox = decision)]
#[workflow_methods]
impl Renamed {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

#[workflow]
#[derive(Default)]
pub struct Mistyped {
    inbox: Vec<String>,
}

#[agent_handlers]
#[workflow_methods]
impl Mistyped {
    #[run]
    pub async fn run(_ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        Ok(())
    }
}

fn main() {}
