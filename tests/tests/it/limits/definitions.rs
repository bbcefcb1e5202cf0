//! Instructions and tools whose size changes while a run is open.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, ToolContext, ToolError,
    agent::Instructions,
    tool,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, ReplayCheck,
    fake_model::{text, tool_calls},
    history::History,
};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};

use crate::examples::executions_of;

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

/// Notes that it was called, in the run's context.
#[tool(inline)]
fn look(ctx: &mut ToolContext) -> Result<String, ToolError> {
    ctx.run_mut().set("looked", true)?;
    Ok("a field".to_owned())
}

/// The boss asks clerks who look once; their instructions change with that, or never do.
fn curious(changes: bool) -> Agent {
    let instructions = Instructions::computed(move |run, _| {
        let looked = changes && run.get::<bool>("looked").ok().flatten().unwrap_or_default();
        format!("{looked} {}", "x".repeat(80_000))
    });
    let clerk: Agent = Agent::new("clerk").model("gpt-5").instructions(instructions).tool(look);
    Agent::new("boss").model("gpt-5").tool(clerk.as_tool().name("ask_clerk").description("Asks."))
}

#[tokio::test]
async fn group_marker_replays_with_definitions_by_reference() -> anyhow::Result<()> {
    let set = |changes: bool| AgentSet::new((move || curious(changes),));
    let model = FakeModel::function(|call, _| match (&*call.agent, call.input.len()) {
        ("boss", 1) => tool_calls((0..12).map(|number| ("ask_clerk", json!({"input": number.to_string()})))),
        ("clerk", 1) => tool_calls([("look", json!({}))]),
        _ => text("done"),
    });
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set(true)))?
        .model(&model)
        .agents(&set(true))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("boss", "Go.")).await?;
    let history = run.history.clone();
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    assert!(groups(&history) > 1, "both turns have groups: {}", groups(&history));
    for changes in [true, false] {
        let factory = AgentWorkflow::factory(set(changes));
        let check = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(factory)?;
        check.replay(&history).await.map_err(|error| anyhow::anyhow!("changes: {changes}: {error}"))?;
    }
    Ok(())
}

/// Returns a page.
#[tool(inline)]
fn page(number: u32) -> String {
    format!("{number} {}", "x".repeat(10_000))
}

/// A reader whose runs continue as new after some pages, and whose instructions have this size.
fn reading(bytes: usize) -> AgentSet {
    let reader = move || Agent::<String>::new("reader").model("gpt-5").instructions("x".repeat(bytes)).tool(page);
    AgentSet::new((reader,)).continue_when(ContinueOptions::builder().new_bytes(30_000).build())
}

#[rstest]
#[case::small(10)]
#[case::large(300_000)]
#[tokio::test]
async fn definitions_do_not_decide_when_runs_move(#[case] bytes: usize) -> anyhow::Result<()> {
    let pages = (0..8).map(|number| tool_calls([("page", json!({"number": number}))]));
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(reading(bytes)))?
        .model(&FakeModel::script(pages.chain([text("done")])))
        .agents(&reading(bytes))
        .start()
        .await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("reader", "Go.")).await?;
    let histories = executions_of(env.client(), &run.workflow_id).await?;
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    assert!(histories.len() > 2, "{}", histories.len());
    for history in &histories {
        for other in [10, 60_000, 390_000] {
            let factory = AgentWorkflow::factory(reading(other));
            let check = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(factory)?;
            check.replay(history).await.map_err(|error| anyhow::anyhow!("{other} bytes: {error}"))?;
        }
    }
    Ok(())
}
