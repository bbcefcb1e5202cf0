//! Calls that fail without an activity that says so, and runs inside runs: their ends are facts, the same on every host.

use std::sync::{Arc, Mutex, PoisonError};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, ToolError,
    inline::InlineRunner,
    tool,
    wire::{AgentRequest, EventKind, ModelFailureKind, RunEvent},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{failure, text, tool_calls},
    history::History,
};

use super::reading::read;
use crate::{continuing::ready_made::histories, golden_history::recorded, versions::support::replays};

/// Looks up a policy.
#[tool]
async fn look_up(number: u32) -> Result<String, ToolError> {
    Err(ToolError::failed(format!("policy {number}: the table is locked")))
}

/// Divides.
#[tool(inline)]
fn divide(a: i64, b: i64) -> Result<i64, ToolError> {
    a.checked_div(b).ok_or_else(|| ToolError::failed("division by zero"))
}

fn desk() -> Agent {
    let helper = Agent::new("helper").model("gpt-5");
    let tired = Agent::new("tired").model("gpt-5-mini");
    Agent::new("desk")
        .model("gpt-5")
        .tool(look_up)
        .tool(divide)
        .tool(helper.as_tool().name("ask_helper").description("Asks."))
        .tool(tired.as_tool().name("ask_tired").description("Asks."))
}

/// The desk makes a call of each kind. One of the two agents that it asks has no model.
fn model() -> FakeModel {
    FakeModel::function(|call, _| match (&*call.agent, call.turn) {
        ("desk", 1) => tool_calls([
            ("look_up", json!({"number": "seven"})),
            ("look_up", json!({"number": 7})),
            ("divide", json!({"a": 1, "b": 0})),
            ("ask_helper", json!({"input": "Well?"})),
            ("ask_tired", json!({"input": "Well?"})),
        ]),
        ("desk", _) => text("done"),
        ("helper", _) => text("42"),
        _ => failure(ModelFailureKind::BadRequest, "no such model"),
    })
}

/// The ends of calls and runs, in their order.
fn ends(events: &[RunEvent]) -> Vec<String> {
    let line = |event: &RunEvent| {
        let what = match &event.kind {
            EventKind::ToolFailed { name, failure, .. } => format!("{name} fails: {}", failure.message),
            EventKind::ToolOutput { name, output, is_failure, .. } => {
                format!("{name}, {}: {}", if *is_failure { "failed" } else { "ok" }, output.as_str()?)
            }
            EventKind::RunFinished { output, .. } => format!("{} has finished: {output}", event.agent),
            EventKind::RunFailed { failure, .. } => format!("{} has failed: {}", event.agent, failure.message),
            _ => return None,
        };
        // Only the failure of an activity begins with its type.
        let what = what.replace("ModelInvocationError.BadRequest: ", "");
        Some(event.path.iter().rev().fold(what, |what, call| format!("{call} {what}")))
    };
    let mut ends: Vec<String> = events.iter().filter_map(line).collect();
    // The order of an activity's end among the others depends on timing.
    ends.sort_by_key(|end| !end.starts_with("look_up fails: policy"));
    ends
}

const EXPECTED: [&str; 12] = [
    "look_up fails: policy 7: the table is locked",
    "look_up fails: Invalid JSON input for tool look_up: number: fails type, allowed: \"integer\"",
    "divide fails: division by zero",
    "1-tool-4 tired has failed: the model call of agent \"tired\" at turn 1 (model \"gpt-5-mini\") failed: no such model",
    "ask_tired fails: the model call of agent \"tired\" at turn 1 (model \"gpt-5-mini\") failed: no such model",
    "look_up, failed: Invalid JSON input for tool look_up: number: fails type, allowed: \"integer\"",
    "look_up, failed: An error occurred while running the tool. Please try again.",
    "divide, failed: An error occurred while running the tool. Please try again.",
    "1-tool-3 helper has finished: \"42\"",
    "ask_helper, ok: 42",
    "ask_tired, failed: An error occurred while running the tool. Please try again.",
    "desk has finished: \"done\"",
];

/// Plays the run, and returns its history.
async fn played(cached: bool) -> anyhow::Result<Vec<History>> {
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((desk,))))?
        .model(&model())
        .agent(desk);
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let run = env.run(AgentWorkflow::run, AgentRequest::new("desk", "Go.")).await?;
    assert_eq!(ends(&read(env.client(), &run.workflow_id).await?), EXPECTED);
    let histories = histories(&env, &run.workflow_id).await?;
    env.finish().await?;
    Ok(histories)
}

#[rstest]
#[tokio::test]
async fn failed_calls_and_nested_runs_have_ends_in_a_workflow(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    played(cached).await.map(drop)
}

#[tokio::test]
async fn histories_with_failed_calls_replay() -> anyhow::Result<()> {
    for history in Box::pin(recorded("v0.1", "failed_calls", async || Box::pin(played(true)).await)).await? {
        replays(&history, AgentWorkflow::factory(AgentSet::new((desk,)))).await?;
    }
    Ok(())
}

#[tokio::test]
async fn failed_calls_and_nested_runs_have_ends_in_an_inline_run() -> anyhow::Result<()> {
    let seen: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let runner = InlineRunner::new(model())
        .on_event(move |event| sink.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone()));
    runner.run(&desk(), "Go.").await?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(ends(&seen), EXPECTED);
    Ok(())
}
