//! What is logged of attempts at tool calls that fail: one warning for each, on every host.
//!
//! With `--nocapture` the tests print these lines.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, State, ToolContext, ToolError,
    inline::InlineRunner,
    tool,
    wire::AgentRequest,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
};
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{PATIENCE, logs, rolling_deploys::warned::warnings_of};

/// Fails in the way that it is asked to.
#[tool(start_to_close = "2s")]
async fn act(ctx: &ToolContext, way: String) -> Result<String, ToolError> {
    match (&*way, ctx.info().attempt) {
        ("breaks", _) => Err(ToolError::failed("a broken disk")),
        ("is busy", 1) => Err(ToolError::transient("busy")),
        ("panics", 1) => panic!("a bug"),
        ("says too much", _) => Ok("x".repeat(3_000_000)),
        ("is late", 1) => {
            sleep(Duration::from_mins(5)).await;
            Ok(String::new())
        }
        _ => Ok("done".to_owned()),
    }
}

/// Divides.
#[tool(inline)]
fn divide(a: i64, b: i64) -> Result<i64, ToolError> {
    a.checked_div(b).ok_or_else(|| ToolError::failed("division by zero"))
}

fn agent(name: &str) -> Agent {
    Agent::new(name).model("gpt-5").tool(act).tool(divide)
}

fn model() -> FakeModel {
    let way = |way| ("act", json!({"way": way}));
    let calls = [
        way("breaks"),
        way("is busy"),
        way("panics"),
        way("says too much"),
        way("is late"),
        ("act", json!({"way": 3})),
        ("divide", json!({"a": 1, "b": 0})),
        way("works"),
    ];
    FakeModel::script([tool_calls(calls), text("done")])
}

/// The warnings about the agent's tools: call, attempt, pause before the next one, error.
fn heard(agent: &str) -> Vec<[String; 4]> {
    for line in logs::with(agent) {
        println!("{line}");
    }
    let all = warnings_of(agent).into_iter();
    let of_tools = all.filter(|fields| fields["message"] == "an attempt at a tool call failed");
    let mut heard: Vec<[String; 4]> = of_tools
        .map(|fields| {
            assert_eq!(fields["turn"], "1");
            ["call_id", "attempt", "next_pause", "error"].map(|name| fields.get(name).cloned().unwrap_or_default())
        })
        .collect();
    heard.sort();
    heard
}

fn expected(pause: &str) -> Vec<[String; 4]> {
    let expected = [
        ["call_0_0", "1", "", "a broken disk"],
        ["call_0_1", "1", pause, "busy"],
        ["call_0_2", "1", pause, "it panicked: a bug"],
        ["call_0_3", "1", "", "tool \"act\" returned 3.00 MB, the limit is 2.00 MB"],
        ["call_0_4", "1", pause, "not finished within 2s, its start_to_close"],
        ["call_0_5", "1", "", "Invalid JSON input for tool act: way: fails type, allowed: \"string\""],
        ["call_0_6", "1", "", "division by zero"],
    ];
    expected.map(|line| line.map(str::to_owned)).into()
}

fn durable() -> Agent {
    agent("heard_durable")
}

fn batched() -> Agent {
    agent("heard_batched")
}

#[rstest]
#[case::in_activities_of_their_own(durable, false)]
#[case::in_a_batch(batched, true)]
#[tokio::test]
async fn each_failed_attempt_at_a_tool_of_a_workflow_is_one_warning(
    #[case] agent: fn() -> Agent,
    #[case] batch_tools: bool,
) -> anyhow::Result<()> {
    logs::keep();
    let name = agent().name().to_owned();
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .model(&model())
        .agent(agent)
        .start()
        .await?;
    let request = json!({"agent": name, "input": "Go.", "batch_tools": batch_tools});
    let request: AgentRequest = serde_json::from_value(request)?;
    env.run(AgentWorkflow::run, request).await?.output()?;
    // Also after all runs were replayed.
    env.finish().await?;
    assert_eq!(heard(&name), expected("1s"));
    Ok(())
}

#[tokio::test]
async fn each_failed_attempt_at_a_tool_of_an_inline_run_is_one_warning() -> anyhow::Result<()> {
    logs::keep();
    let runner = InlineRunner::new(model()).first_pause(Duration::from_millis(10));
    runner.run(&agent("heard_inline"), "Go.").await?;
    assert_eq!(heard("heard_inline"), expected("10ms"));
    Ok(())
}

/// Tells a test when an attempt has begun.
#[derive(Clone, Default)]
struct Begun(Arc<AtomicU32>, Arc<Notify>);

impl Begun {
    async fn attempt(&self, number: u32) -> anyhow::Result<()> {
        let reached = async {
            while self.0.load(Ordering::Acquire) < number {
                self.1.notified().await;
            }
        };
        Ok(timeout(PATIENCE, reached).await?)
    }
}

/// Does not end at its first attempt.
#[tool(start_to_close = "60s", heartbeat = "1s")]
async fn hang(ctx: &ToolContext, State(begun): State<Begun>) -> Result<String, ToolError> {
    begun.0.store(ctx.info().attempt, Ordering::Release);
    begun.1.notify_one();
    if ctx.info().attempt == 1 {
        std::future::pending::<()>().await;
    }
    Ok("done".to_owned())
}

/// Does not end at its only attempt.
#[tool(start_to_close = "60s", heartbeat = "1s", idempotent = false)]
async fn hang_once(ctx: &ToolContext, State(begun): State<Begun>) -> Result<String, ToolError> {
    begun.0.store(ctx.info().attempt, Ordering::Release);
    begun.1.notify_one();
    std::future::pending().await
}

fn lost() -> Agent {
    Agent::new("heard_lost").model("gpt-5").tool(hang)
}

fn lost_in_batch() -> Agent {
    Agent::new("heard_lost_in_batch").model("gpt-5").tool(hang)
}

fn lost_for_good() -> Agent {
    Agent::new("heard_lost_for_good").model("gpt-5").tool(hang_once)
}

const NO_HEARTBEAT: &str =
    "no heartbeat has reached the server within the heartbeat timeout: the worker has stopped, or was blocked";

#[rstest]
#[case::by_the_next_attempt(lost, "hang", 1, NO_HEARTBEAT)]
#[case::by_the_next_attempt_of_a_batch(lost_in_batch, "hang", 2, NO_HEARTBEAT)]
#[case::by_the_workflow_if_it_was_the_last(lost_for_good, "hang_once", 1, "activity Heartbeat timeout")]
#[tokio::test]
async fn an_attempt_that_is_lost_with_its_worker_is_one_warning(
    #[case] agent: fn() -> Agent,
    #[case] tool: &str,
    #[case] calls: usize,
    #[case] error: &str,
) -> anyhow::Result<()> {
    logs::keep();
    let (begun, name) = (Begun::default(), agent().name().to_owned());
    let model = FakeModel::script([tool_calls(vec![(tool, json!({})); calls]), text("done")]);
    let state = begun.clone();
    let mut env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .without_workflow_cache()
        .model(&model)
        .agent(agent)
        .state(state)
        .start()
        .await?;
    let request = json!({"agent": name, "input": "Go.", "batch_tools": calls > 1});
    let request: AgentRequest = serde_json::from_value(request)?;
    let handle = env.start_workflow(AgentWorkflow::run, request).await?;
    begun.attempt(1).await?;
    env.kill_worker().await?;
    env.start_worker()?;
    env.await_run(&handle).await?.output()?;
    env.finish().await?;
    let line = |call| [format!("call_0_{call}"), "1".to_owned(), String::new(), error.to_owned()];
    assert_eq!(heard(&name), (0..calls).map(line).collect::<Vec<_>>());
    Ok(())
}
