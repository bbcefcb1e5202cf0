//! Tokens and tool deltas of a workflow's activities, read in the process of the worker and from outside.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::try_join_all;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, ToolContext,
    agent::GuardrailOutput,
    client::RunEvents,
    guardrail,
    inline::InlineRunner,
    tool,
    wire::{AgentRequest, EventKind, RunEvent},
    worker::{HeartbeatDeltas, InProcessDeltas},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_call},
    history::{self, History},
};
use temporalio_client::{UntypedWorkflow, WorkflowDescribeOptions};
use tokio::time::timeout;

use super::reading::all;

/// Works for a while, and says so.
#[tool(start_to_close = "20s")]
pub(super) async fn dig(ctx: &ToolContext) -> String {
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

const STORY: &str = "Once upon a time there was a lighthouse, and nobody knew who lit it each night.";

fn story() -> Reply {
    text(STORY).chunk_size(3).chunk_pause(Duration::from_millis(30))
}

fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5").tool(dig)
}

async fn environment(
    model: &FakeModel,
    deltas: impl FnOnce(AgentsPlugin) -> AgentsPlugin,
) -> anyhow::Result<AgentEnvironment> {
    let set = AgentSet::new((narrator,));
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .agent(narrator)
        .model(model)
        .plugin(deltas);
    Ok(builder.start().await?)
}

/// The texts of a message in the order in which its parts came, by attempt.
pub(super) fn texts(events: &[RunEvent]) -> Vec<(u32, String)> {
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

/// Checks what holds of every live reader: the facts are those of the history, deltas name the item that
/// they become, and none follows the answer of its call.
pub(super) async fn check(env: &AgentEnvironment, id: &str, events: &[RunEvent]) -> anyhow::Result<()> {
    let facts: Vec<_> = events.iter().filter(|event| !event.is_delta()).cloned().collect();
    assert_eq!(facts, all(RunEvents::new(env.client()).watch(id)).await?);
    let (mut ended, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        match &event.kind {
            EventKind::ModelCallAnswered { .. } => {
                ended.insert(event.id.trim_end_matches("/answered").to_owned());
            }
            EventKind::TextDelta { message_id, .. } => {
                let (call, _) = message_id.rsplit_once('/').expect("an id of an item");
                assert!(!ended.contains(call), "{message_id} after its answer");
                assert!(facts.iter().any(|fact| fact.id == *message_id), "{message_id} becomes no fact");
                assert!(ids.insert(event.id.clone()), "{} comes twice", event.id);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the heartbeat details of the pending activities of a workflow, as text.
async fn heartbeat(env: &AgentEnvironment, id: &str) -> anyhow::Result<String> {
    let handle = env.client().get_workflow_handle::<UntypedWorkflow>(id);
    let described = handle.describe(WorkflowDescribeOptions::default()).await?.raw_description;
    let details = described.pending_activities.into_iter().filter_map(|activity| activity.heartbeat_details);
    let payloads = details.flat_map(|details| details.payloads);
    Ok(payloads.map(|payload| String::from_utf8_lossy(&payload.data).into_owned()).collect())
}

#[tokio::test]
async fn the_heartbeat_of_a_call_that_streams_has_its_progress() -> anyhow::Result<()> {
    let model = FakeModel::script([text(STORY).chunk_size(1).chunk_pause(Duration::from_millis(50))]);
    let env = environment(&model, |plugin| plugin.deltas(HeartbeatDeltas::new())).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    let looking = async {
        loop {
            let heartbeat = heartbeat(&env, &started.info().workflow_id).await?;
            if let Some((_, progress)) = heartbeat.split_once("Streaming LLM response: ") {
                return anyhow::Ok(progress.split('"').next().unwrap_or_default().to_owned());
            }
            tokio::task::yield_now().await;
        }
    };
    let progress = timeout(crate::PATIENCE, looking).await??;
    let (chunks, characters) = progress.split_once(" chunks, ").expect("it counts both");
    // Each chunk is one character here.
    assert_eq!(characters, format!("{chunks} characters"));
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

/// The kinds of the events of a history.
pub(super) fn kinds(history: &History) -> Vec<i32> {
    history.events.iter().map(|event| event.event_type).collect()
}

#[rstest]
#[case::unbroken(None)]
#[case::after_an_attempt_that_broke(Some(9))]
#[tokio::test]
async fn tokens_are_read_from_heartbeats_and_leave_no_trace_in_history(
    #[case] breaks: Option<usize>,
) -> anyhow::Result<()> {
    let reply = || breaks.map_or_else(story, |chunks| story().breaking_after(chunks));
    let script = || [tool_call("dig", json!({})), reply()];
    let model = FakeModel::script(script());
    let env = environment(&model, |plugin| plugin.deltas(HeartbeatDeltas::new())).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    let id = started.info().workflow_id.clone();
    let readers = (0..3).map(|_| all(RunEvents::new(env.client()).watch_live(id.clone())));
    for events in try_join_all(readers).await? {
        check(&env, &id, &events).await?;
        let texts = texts(&events);
        let (attempt, told) = texts.last().expect("a part of the text was read");
        assert_eq!((*attempt, STORY.starts_with(told)), (1 + u32::from(breaks.is_some()), true), "{texts:?}");
        assert!(texts.iter().all(|(_, text)| STORY.starts_with(text)), "{texts:?}");
        let progress = events.iter().filter(|event| event.kind.name() == "tool_output_delta").count();
        assert!(progress > 0, "the tool's progress was read");
    }
    env.await_run(&started).await?.output()?;
    let with = history::fetch(env.client(), &id, None).await?;
    env.finish().await?;

    let quiet = FakeModel::script([tool_call("dig", json!({})), text(STORY)]);
    let env = environment(&quiet, |plugin| plugin).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    env.await_run(&started).await?.output()?;
    let without = history::fetch(env.client(), &started.info().workflow_id, None).await?;
    assert_eq!(kinds(&with), kinds(&without));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn tokens_reach_a_function_in_the_process_of_the_worker() -> anyhow::Result<()> {
    let seen: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let transport = InProcessDeltas::new(move |event| {
        sink.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
    });
    // What an attempt has not passed on when it ends is lost: the first call lasts long enough.
    let call = tool_call("dig", json!({})).delayed(Duration::from_millis(50));
    let model = FakeModel::script([call, story().breaking_after(5)]);
    let env = environment(&model, |plugin| plugin.deltas(transport)).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    env.await_run(&started).await?.output()?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let texts = texts(&seen);
    assert_eq!(texts.iter().map(|(attempt, _)| *attempt).collect::<Vec<_>>(), [1, 2]);
    // What was not passed on when the attempt failed is lost.
    assert!(STORY[..15].starts_with(&texts[0].1), "{texts:?}");
    assert!(STORY.starts_with(&texts[1].1) && texts[1].1.len() > STORY.len() / 2, "{texts:?}");
    let begun = seen.iter().filter_map(|event| match &event.kind {
        EventKind::AttemptDelta { effect, attempt, .. } => Some((effect.clone(), *attempt)),
        _ => None,
    });
    assert_eq!(
        begun.collect::<Vec<_>>(),
        [("1-model", 1), ("2-model", 1), ("2-model", 2)].map(|(e, n)| (e.to_owned(), n))
    );
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn tokens_of_an_inline_run_reach_its_subscriber_and_guarded_text_does_not() -> anyhow::Result<()> {
    let texts_of = async |guarded: bool| {
        let seen: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
        let sink = Arc::clone(&seen);
        let runner =
            InlineRunner::new(FakeModel::script([story().chunk_pause(Duration::ZERO)])).on_event(move |event| {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
            });
        let agent = if guarded { narrator().output_guardrail(no_secrets) } else { narrator() };
        runner.run(&agent, "Tell me.").await?;
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        anyhow::Ok(texts(&seen))
    };
    assert_eq!(texts_of(false).await?, [(1, STORY.to_owned())]);
    assert_eq!(texts_of(true).await?, []);
    Ok(())
}

/// Stops every answer.
#[guardrail(output)]
fn nothing_passes(_output: &str) -> GuardrailOutput {
    GuardrailOutput::trip()
}

/// The events of a run that a guardrail stops, or lets pass, as a reader outside and an inline subscriber see them.
async fn guarded(agent: fn() -> Agent) -> anyhow::Result<[Vec<RunEvent>; 2]> {
    let model = FakeModel::function(|_, _| story());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .agent(agent)
        .model(&model)
        .plugin(|plugin| plugin.deltas(HeartbeatDeltas::new()))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("narrator", "Tell me.")).await?;
    let outside = all(RunEvents::new(env.client()).watch_live(&*started.info().workflow_id)).await?;
    let history = history::fetch(env.client(), &started.info().workflow_id, None).await?;
    env.replay(&history).await?;
    env.finish().await?;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let inline = Arc::clone(&seen);
    let runner = InlineRunner::new(model)
        .on_event(move |event| inline.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone()));
    let _ = runner.run(&agent(), "Tell me.").await;
    let inline = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok([outside, inline])
}

fn texts_and_messages(events: &[RunEvent]) -> (usize, usize) {
    let texts = events.iter().filter(|event| matches!(event.kind, EventKind::TextDelta { .. })).count();
    (texts, events.iter().filter(|event| matches!(event.kind, EventKind::Message { .. })).count())
}

#[tokio::test]
async fn a_stopped_answer_is_never_told() -> anyhow::Result<()> {
    for events in guarded(|| narrator().output_guardrail(nothing_passes)).await? {
        assert_eq!(texts_and_messages(&events), (0, 0), "{events:?}");
        let last = events.last().map(|event| event.kind.name().to_owned());
        assert_eq!(last.as_deref(), Some("run_failed"));
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_that_passes_is_told_before_the_end() -> anyhow::Result<()> {
    for events in guarded(|| narrator().output_guardrail(no_secrets)).await? {
        assert_eq!(texts_and_messages(&events), (0, 1), "{events:?}");
        let names: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
        assert_eq!(names[names.len() - 2..], ["message", "run_finished"]);
    }
    Ok(())
}

#[tokio::test]
async fn an_author_can_show_unchecked_output() -> anyhow::Result<()> {
    for events in guarded(|| narrator().output_guardrail(nothing_passes).show_unchecked_output()).await? {
        let (texts, messages) = texts_and_messages(&events);
        assert!(texts > 0 && messages == 1, "{events:?}");
    }
    Ok(())
}
