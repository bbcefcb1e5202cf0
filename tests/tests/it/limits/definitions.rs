//! Instructions and tools whose size changes while a run is open.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, ReplayCheck,
    fake_model::{text, tool_calls},
    history::History,
};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};

const CALLS: usize = 40;

/// A clerk whose instructions have this size is asked by the boss.
fn boss(bytes: usize) -> Agent {
    let clerk: Agent = Agent::new("clerk").model("gpt-5").instructions("x".repeat(bytes));
    Agent::new("boss").model("gpt-5").tool(clerk.as_tool().name("ask_clerk").description("Asks."))
}

fn set(bytes: usize) -> AgentSet {
    AgentSet::new((move || boss(bytes),))
}

async fn recorded(bytes: usize) -> anyhow::Result<History> {
    let calls = (0..CALLS).map(|number| ("ask_clerk", json!({"input": format!("question {number}")})));
    let answers = (0..CALLS).map(|number| text(number.to_string()));
    let script = std::iter::once(tool_calls(calls)).chain(answers).chain([text("done")]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(bytes)))?
        .model(&FakeModel::script(script))
        .agents(&set(bytes))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("boss", "Go.")).await?;
    let history = run.history.clone();
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    Ok(history)
}

/// Returns the number of calls that began a group.
fn groups(history: &History) -> usize {
    let begins = |event: &HistoryEvent| match &event.attributes {
        Some(Attributes::MarkerRecordedEventAttributes(marker)) => {
            let mut payloads = marker.details.values().flat_map(|payloads| &payloads.payloads);
            payloads.any(|payload| String::from_utf8_lossy(&payload.data).contains("definitions-wait"))
        }
        _ => false,
    };
    history.events.iter().filter(|event| begins(event)).count()
}

/// 80 kB for each of 40 concurrent calls are more than one message to the server has room for.
#[rstest]
#[case::that_fit(1_000, 0)]
#[case::that_have_to_wait(80_000, 5)]
#[tokio::test]
async fn definitions_of_any_size_replay_open_runs(#[case] bytes: usize, #[case] waits: usize) -> anyhow::Result<()> {
    let history = recorded(bytes).await?;
    assert_eq!(groups(&history), waits);
    for other in [bytes, 10, 60_000, 70_000, 90_000, 500_000] {
        let check = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(other)))?;
        check.replay(&history).await.map_err(|error| anyhow::anyhow!("{other} bytes: {error}"))?;
    }
    let check = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(10)))?;
    check.replay_without_cache(&history).await?;
    Ok(())
}
