//! A program's handle of an author's own workflow: start, decision, events, result.

use futures::TryStreamExt;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool, agent_handlers,
    client::RunHandle,
    tool,
    wire::{DecisionAnswer, EventKind, RunEvent},
    worker::HeartbeatDeltas,
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};
use temporalio_client::WorkflowStartOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use crate::PATIENCE;

/// Pays money back.
#[tool(start_to_close = "20s")]
async fn pay_back(amount: u32) -> String {
    format!("paid {amount}")
}

fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(pay_back.needs_approval())
}

#[workflow]
#[derive(Default)]
struct Desk {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Desk {
    #[run(name = "desk")]
    async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&desk(), request).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn a_run_is_started_decided_printed_and_awaited(#[values(true, false)] cached: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("pay_back", json!({"amount": 40})), text("You have your money.")]);
    let builder = AgentEnvironment::builder().workflow::<Desk>()?.agents((desk,)).model(&model);
    let builder = builder.plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()));
    let builder = if cached { builder } else { builder.without_workflow_cache() };
    let env = builder.start().await?;
    let options = WorkflowStartOptions::new(env.task_queue(), "desk-7").build();
    let run = RunHandle::start(env.client(), Desk::run, "Pay me 40.".to_owned(), options).await?;
    assert_eq!(run.id(), "desk-7");
    let waiting = timeout(PATIENCE, run.agent().wait_for_interruptions()).await??;
    assert_eq!(run.agent().approve(&*waiting[0].id).await?, DecisionAnswer::Accepted);
    // Another program finds it by its id.
    let found = RunHandle::attach(env.client(), Desk::run, "desk-7");
    assert_eq!(timeout(PATIENCE, found.result()).await??, "You have your money.");
    let events: Vec<RunEvent> = timeout(PATIENCE, found.events().try_collect()).await??;
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::QuestionDecided { .. })), "{events:#?}");
    timeout(PATIENCE, run.print_events()).await??;
    env.finish().await?;
    Ok(())
}
