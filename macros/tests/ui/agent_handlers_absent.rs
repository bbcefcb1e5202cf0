use temporal_agents::{Agent, Runner};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_workflow::{WorkflowContext, WorkflowResult};

#[workflow]
#[derive(Default)]
pub struct Refunds;

#[workflow_methods]
impl Refunds {
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&Agent::new("refunds"), request).await?.final_output)
    }
}

fn main() {}
