//! The facts of an agentic session, read from outside while it runs.

use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Tool,
    agentic_session::{AgenticSession, CheckpointFormat, MessageDialect, WorkflowApprover},
    client::RunEvents,
    inline::InlineRunner,
    tool,
    tool::ToolError,
    wire::{DecisionAnswer, RunEvent},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, SessionEnvironment,
    fake_model::{text, tool_call},
};

use crate::agentic_session::{
    asked::asked,
    desk::{Desk, Office, Order},
    mishap::Mishap,
};

use crate::PATIENCE;

/// Reads a file.
#[tool]
async fn read(path: String) -> Result<String, ToolError> {
    Ok(format!("fn {path}() {{}}"))
}

/// Merges a change.
#[tool]
async fn merge(change: u32) -> Result<String, ToolError> {
    Ok(format!("merged {change}"))
}

/// A desk whose session returns its facts. Its first attempt may have a mishap.
fn desk(model: &FakeModel, format: CheckpointFormat, mishap: &Mishap) -> Desk {
    let (inline, mishap) = (InlineRunner::new(model.clone()), mishap.clone());
    Desk::new(move |ctx, _| {
        let (inline, mishap) = (inline.clone(), mishap.clone());
        async move {
            let approver = WorkflowApprover::new().timeout(Duration::from_hours(1));
            let options = AgenticSession::options().approver(approver).checkpoint_format(format);
            let body = async |session: AgenticSession| {
                let agent = Agent::new("reviewer").model("gpt-5").tool(read).tool(merge.needs_approval());
                let inline = inline.clone().max_turns(100);
                let runner = session.runner(&inline);
                mishap.or(runner.run(&agent, "Review main.rs.").into_future()).await?;
                Ok(json!(session.facts()))
            };
            options.run(&ctx, body).await
        }
    })
}

/// Waits until a reader outside of the worker finds this number of facts, and returns them.
async fn facts_from_outside(env: &AgentEnvironment, workflow_id: &str, count: usize) -> anyhow::Result<Vec<RunEvent>> {
    let (events, deadline) = (RunEvents::new(env.client()), Instant::now() + PATIENCE);
    loop {
        let facts = events.session_facts(workflow_id).await?;
        if facts.len() >= count {
            return Ok(facts);
        }
        anyhow::ensure!(Instant::now() < deadline, "{count} facts are expected: {:?}", kinds(&facts));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn kinds(facts: &[RunEvent]) -> Vec<String> {
    facts
        .iter()
        .map(|fact| format!("{} {}", fact.kind.name(), fact.id.strip_prefix(&fact.run).expect("an own id")))
        .collect()
}

const BEFORE_THE_DECISION: [&str; 12] = [
    "run_started /started",
    "turn_started /1",
    "model_call_scheduled /1-model",
    "model_call_answered /1-model/answered",
    "tool_call /1-model/0",
    "tool_output /1-tool-0/output",
    "turn_started /2",
    "model_call_scheduled /2-model",
    "model_call_answered /2-model/answered",
    "tool_call /2-model/0",
    "question_asked /2-question-1",
    "run_paused /2-paused-1",
];
const AFTER_THE_DECISION: [&str; 8] = [
    "question_decided /2-decision-1",
    "run_resumed /2-resumed-1",
    "tool_output /2-tool-0/output",
    "turn_started /3",
    "model_call_scheduled /3-model",
    "model_call_answered /3-model/answered",
    "message /3-model/0",
    "run_finished /ended",
];

#[rstest]
#[case::in_one_attempt(false)]
#[case::in_an_attempt_that_fails_and_one_after_it(true)]
#[tokio::test]
async fn a_session_is_watched_from_outside_and_returns_the_same_facts(#[case] fails: bool) -> anyhow::Result<()> {
    let script = [tool_call("read", json!({"path": "main"})), tool_call("merge", json!({"change": 7})), text("done")];
    let (model, mishap) = (FakeModel::script(script), Mishap::new());
    let env = desk(&model, CheckpointFormat::Native, &mishap).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let id = started.info().workflow_id.clone();
    let (agent, call) = asked(env.client()).await?;
    let before = facts_from_outside(&env, &id, BEFORE_THE_DECISION.len()).await?;
    assert_eq!(kinds(&before), BEFORE_THE_DECISION);
    if fails {
        mishap.happen();
    }
    assert_eq!(agent.approve(&*call.id).await?, DecisionAnswer::Accepted);
    let returned: Vec<RunEvent> = serde_json::from_value(env.await_run(&started).await?.output()?)?;
    let expected: Vec<&str> = BEFORE_THE_DECISION.into_iter().chain(AFTER_THE_DECISION).collect();
    assert_eq!(kinds(&returned), expected);
    // Not only ids and kinds: times, attempts and content are those that were read before.
    assert_eq!(returned[..before.len()], before);
    assert_eq!(facts_from_outside(&env, &id, 0).await?, [], "the session has ended");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_session_in_the_format_of_the_proposal_has_no_facts_outside() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("merge", json!({"change": 7})), text("done")]);
    let format = CheckpointFormat::ProposalObject(MessageDialect::Anthropic);
    let env = desk(&model, format, &Mishap::new()).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let (agent, call) = asked(env.client()).await?;
    assert_eq!(facts_from_outside(&env, &started.info().workflow_id, 0).await?, []);
    assert_eq!(agent.approve(&*call.id).await?, DecisionAnswer::Accepted);
    assert_eq!(env.await_run(&started).await?.output()?, json!([]));
    env.finish().await?;
    Ok(())
}

/// Prints the figure with `--nocapture`.
#[tokio::test]
async fn the_facts_of_a_turn_with_a_tool_take_less_than_a_kilobyte_of_the_checkpoint() -> anyhow::Result<()> {
    const TURNS: u32 = 50;
    let model = FakeModel::function(|call, _| match call.turn {
        TURNS => text("done"),
        turn => tool_call("read", json!({"path": format!("src/part_{turn}.rs")})),
    });
    let desk = desk(&model, CheckpointFormat::Native, &Mishap::new());
    let env = SessionEnvironment::new().register_activities(move || desk.clone());
    let attempt = env.attempt().run(Desk::work, Value::Null).await;
    attempt.result?;
    let mut checkpoint = serde_json::to_value(attempt.checkpoints.last().expect("a session writes checkpoints"))?;
    let whole = checkpoint.to_string().len();
    checkpoint["runs"][0].as_object_mut().expect("a run").remove("facts").expect("facts");
    let facts = whole - checkpoint.to_string().len();
    println!("{TURNS} turns: {whole} B of checkpoint, {facts} B of them for facts");
    assert!(facts < TURNS as usize * 1_000, "{facts} B");
    Ok(())
}
