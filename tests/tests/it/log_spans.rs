//! The span in which the log lines of an activity are written.

use temporal_agents::{Agent, Runner, wire::ModelFailureKind};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{failure, text},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::logs;

fn logged() -> Agent {
    Agent::new("agent_with_log_lines").model("gpt-5")
}

#[workflow]
#[derive(Default)]
pub(crate) struct Logged;

#[workflow_methods]
impl Logged {
    #[run(name = "logged")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&logged(), question).await?.final_output)
    }
}

#[tokio::test]
async fn a_log_line_of_an_activity_names_workflow_run_attempt_agent_and_turn() -> anyhow::Result<()> {
    logs::keep();
    let model = FakeModel::script([failure(ModelFailureKind::RateLimit, "busy"), text("done")]);
    let env = AgentEnvironment::builder().workflow::<Logged>()?.model(&model).agents((logged,)).start().await?;
    let run = env.run(Logged::run, "Go.".to_owned()).await?;
    let lines = logs::with("agent_with_log_lines");
    let line = lines.first().expect("the failed attempt is logged");
    for part in [
        &*format!("activity{{workflow_id=\"{}\" run_id=\"", run.workflow_id),
        "activity=\"agents.call_model\"",
        "attempt=1 agent=\"agent_with_log_lines\" turn=1",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    env.finish().await?;
    Ok(())
}
