//! Tokens and tool deltas of an agentic session, read from outside while it runs.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, ToolContext,
    agent::GuardrailOutput,
    agentic_session::{AgenticSession, AgenticSessionOptions},
    client::RunEvents,
    guardrail,
    inline::InlineRunner,
    tool,
    wire::{EventKind, RunEvent},
    worker::{HeartbeatDeltas, InProcessDeltas},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, item, text, tool_call, tool_calls},
};

use super::reading::all;
use crate::agentic_session::desk::{Desk, Office, Order};

const STORY: &str = "Once upon a time there was a lighthouse, and nobody knew who lit it each night.";

/// Works for a while, and says so.
#[tool(start_to_close = "20s")]
async fn dig(ctx: &ToolContext) -> String {
    for step in 0..4 {
        ctx.progress(f64::from(step) / 4.0, format!("step {step}"));
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    "dug".to_owned()
}

/// Checks the whole answer.
#[guardrail(output)]
fn no_secrets(_output: &str) -> GuardrailOutput {
    GuardrailOutput::pass()
}

fn story() -> Reply {
    text(STORY).chunk_size(3).chunk_pause(Duration::from_millis(30))
}

fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5").tool(dig)
}

/// A desk whose session returns the text of its run.
fn desk(model: &FakeModel, agent: &Agent, options: &AgenticSessionOptions) -> Desk {
    let inline = InlineRunner::new(model.clone()).first_pause(Duration::from_millis(1));
    let (agent, options) = (agent.clone(), options.clone());
    Desk::new(move |ctx, _| {
        let (inline, agent, options) = (inline.clone(), agent.clone(), options.clone());
        async move {
            let body = async |session: AgenticSession| {
                Ok(json!(session.runner(&inline).run(&agent, "Tell me.").await?.final_output))
            };
            options.run(&ctx, body).await
        }
    })
}

/// The texts of a message in the order in which its parts came, by attempt.
fn texts(events: &[RunEvent]) -> Vec<(u32, String)> {
    let mut texts: Vec<(u32, String)> = Vec::new();
    for event in events {
        let EventKind::TextDelta { attempt, delta, .. } = &event.kind else { continue };
        match texts.last_mut() {
            Some((of, text)) if of == attempt => text.push_str(delta),
            _ => texts.push((*attempt, delta.clone())),
        }
    }
    texts
}

/// Checks that no delta comes twice, and that those of texts have the id of their call and attempt.
fn check_ids(events: &[RunEvent]) {
    let mut ids = BTreeSet::new();
    for event in events {
        assert!(ids.insert(event.id.clone()), "{} comes twice", event.id);
        if let EventKind::TextDelta { message_id, attempt, .. } = &event.kind {
            let (call, _) = message_id.rsplit_once('/').expect("an id of an item");
            assert!(event.id.starts_with(&format!("{call}#{attempt}.")), "{} of {message_id}", event.id);
        }
    }
}

#[rstest]
#[case::unbroken(None, 1)]
#[case::after_an_attempt_that_broke(Some(9), 2)]
#[tokio::test]
async fn tokens_of_a_session_are_read_from_its_heartbeats(
    #[case] breaks: Option<usize>,
    #[case] last: u32,
) -> anyhow::Result<()> {
    let reply = breaks.map_or_else(story, |chunks| story().breaking_after(chunks));
    let model = FakeModel::script([tool_call("dig", json!({})), reply]);
    let options = AgenticSession::options().deltas(HeartbeatDeltas::new());
    let env = desk(&model, &narrator(), &options).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let events = all(RunEvents::new(env.client()).watch_live(started.info().workflow_id.clone())).await?;
    check_ids(&events);
    let texts = texts(&events);
    let (attempt, told) = texts.last().expect("a part of the text was read");
    assert_eq!((*attempt, STORY.starts_with(told)), (last, true), "{texts:?}");
    assert!(texts.iter().all(|(_, text)| STORY.starts_with(text)), "{texts:?}");
    assert!(told.len() > STORY.len() / 2, "{texts:?}");
    assert!(events.iter().any(|event| event.kind.name() == "tool_output_delta"), "the tool's progress was read");
    assert_eq!(env.await_run(&started).await?.output()?, json!(STORY));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_session_whose_worker_is_lost_while_it_streams_continues_from_its_checkpoint() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("dig", json!({})), story(), story()]);
    let options = AgenticSession::options().deltas(HeartbeatDeltas::new());
    let builder = desk(&model, &narrator(), &options).environment()?;
    let mut env = builder.without_workflow_cache().start().await?;
    let order = Order { heartbeat_timeout: Duration::from_secs(2), ..Order::new(Value::Null) };
    let started = env.start_workflow(Office::run, order).await?;
    let mut stream = RunEvents::new(env.client()).watch_live(started.info().workflow_id.clone());
    let mut events = Vec::new();
    while texts(&events).is_empty() {
        events.push(stream.next().await.expect("the session has not ended")?);
    }
    env.kill_worker().await?;
    env.start_worker()?;
    events.extend(all(stream).await?);
    check_ids(&events);
    let texts = texts(&events);
    assert_eq!(texts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [1, 101], "{texts:?}");
    assert!(texts.iter().all(|(_, text)| STORY.starts_with(text)), "{texts:?}");
    assert!(texts[1].1.len() > STORY.len() / 2, "{texts:?}");
    assert_eq!(env.await_run(&started).await?.output()?, json!(STORY));
    // The first turn and its tool are in the checkpoint: only the call that was lost is repeated.
    let turns: Vec<u32> = model.calls().iter().map(|call| call.turn).collect();
    assert_eq!(turns, [1, 2, 2]);
    let beginnings = events.iter().filter(|event| event.kind.name() == "tool_output_delta");
    assert!(beginnings.clone().all(|event| event.id.contains("/1-tool-0#1.")), "the tool ran once");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn deltas_of_parallel_runs_whose_calls_have_equal_ids_stay_apart() -> anyhow::Result<()> {
    let digger = |name: &str| Agent::new(name).model("gpt-5").tool(dig).as_tool().name(name).description("Digs.");
    let boss = Agent::new("boss").model("gpt-5").tool(digger("north")).tool(digger("south"));
    let model = FakeModel::function(|call, _| match (call.agent.as_str(), call.turn) {
        ("boss", 1) => tool_calls([("north", json!({"input": "Dig."})), ("south", json!({"input": "Dig."}))]),
        ("boss", _) => text("done"),
        (_, 1) => item(json!({"type": "function_call", "call_id": "call_0", "name": "dig", "arguments": "{}"})),
        _ => text("dug"),
    });
    let options = AgenticSession::options().deltas(HeartbeatDeltas::new());
    let env = desk(&model, &boss, &options).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let events = all(RunEvents::new(env.client()).watch_live(started.info().workflow_id.clone())).await?;
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    check_ids(&events);
    let progress: Vec<_> = events.iter().filter(|event| event.kind.name() == "tool_output_delta").collect();
    let of_runs: BTreeSet<_> = progress.iter().map(|event| &event.path).collect();
    assert_eq!(of_runs.len(), 2, "both runs are read: {of_runs:?}");
    for event in progress {
        let run = format!("{}/{}/", event.run, event.path.join("/"));
        assert!(event.id.starts_with(&run), "{} is of {run}", event.id);
    }
    Ok(())
}

#[rstest]
#[case::unguarded(narrator(), vec![(1, STORY.to_owned())])]
#[case::guarded(narrator().output_guardrail(no_secrets), vec![])]
#[tokio::test]
async fn tokens_of_a_session_reach_a_function_unless_guarded(
    #[case] agent: Agent,
    #[case] expected: Vec<(u32, String)>,
) -> anyhow::Result<()> {
    let seen: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let options = AgenticSession::options().deltas(InProcessDeltas::new(move |event| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    }));
    // The tool runs last: the rest of the story has the time to arrive.
    let model = FakeModel::script([story().and(tool_call("dig", json!({}))), text("done")]);
    let env = desk(&model, &agent, &options).environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    seen.retain(|event| event.turn == 1);
    assert_eq!(texts(&seen), expected);
    assert!(seen.iter().any(|event| event.kind.name() == "tool_output_delta"), "the tool's progress was read");
    Ok(())
}
