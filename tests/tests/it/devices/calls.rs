//! Calls of a device: the same events durable and inline, one outcome whatever is lost.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures::StreamExt;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::RunEvents,
    gate::{Gate, GateMode},
    remote::{
        device::DeviceGateway,
        transport::{MemoryTransport, RedisTransport},
    },
    run::{PausedRun, RunOutcome},
    tool::OUTCOME_UNKNOWN,
    wire::{Decision, EventKind, RunEvent},
    workflow::{AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{RedisServer, history};
use temporalio_common::protos::temporal::api::history::v1::{HistoryEvent, history_event::Attributes};
use tokio::time::{sleep, timeout};

use super::support::{Laptop, Setting, agent, environment, model, request, runner, told};
use crate::PATIENCE;

/// The facts of a run that do not depend on its host.
fn facts(events: &[RunEvent]) -> Vec<String> {
    let fact = |event: &RunEvent| match &event.kind {
        EventKind::ToolCall { name, .. } => Some(format!("called {name}")),
        EventKind::ToolOutput { output, .. } => Some(format!("returned {}", json!(output))),
        EventKind::ToolGated { tool, is_denied, .. } => Some(format!("gated {tool} {is_denied}")),
        EventKind::RunPaused {} => Some("paused".to_owned()),
        EventKind::RunFinished { output, .. } => Some(format!("finished {output}")),
        _ => None,
    };
    events.iter().filter_map(fact).collect()
}

const CALLS: [(&str, &str); 2] = [("dev_laptop_run_command", "ls"), ("dev_laptop_read", "")];

fn calls() -> Vec<(&'static str, serde_json::Value)> {
    CALLS.map(|(name, command)| (name, if command.is_empty() { json!({}) } else { json!({"command": command}) })).into()
}

#[rstest]
#[tokio::test]
async fn a_durable_and_an_inline_run_tell_the_same_of_a_device_that_asks_for_each_call(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let server = RedisServer::start().await?;
    let channels = RedisTransport::new(&server.url())?;
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::ApproveEach)).await?;

    let durable = model(&calls());
    let env = environment(&durable, channels.clone(), Setting { cached, ..Setting::default() }).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("ada")).await?;
    let handle = env.agent_handle(&started).by("ada");
    for _ in CALLS {
        let asked = handle.wait_for_interruptions().await?;
        assert_eq!(asked.len(), 1, "each call is asked for");
        handle.approve(&*asked[0].id).await?;
    }
    let run = env.await_run(&started).await?;
    env.replay(&run.history).await?;
    let of_history: Vec<RunEvent> = RunEvents::new(env.client())
        .watch(&run.workflow_id)
        .map(|event| event.expect("facts are read"))
        .collect()
        .await;
    let searches = run.activities().iter().filter(|activity| activity.activity_type == "agents.find_toolsets").count();
    assert_eq!((searches, run.output()?), (1, json!("done")));
    env.finish().await?;
    assert_eq!(told(&durable), ["ran ls", r#"{"lines":3}"#]);
    assert_eq!(laptop.effects(), 2);

    let inline = model(&calls());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let of_runner = Arc::clone(&seen);
    let runner = runner(&inline, DeviceGateway::new(channels))
        .on_event(move |event: &RunEvent| of_runner.lock().expect("not poisoned").push(event.clone()));
    let mut outcome = runner.run(&agent(), "Work.").until_paused().await?;
    while let RunOutcome::Paused(PausedRun { mut state, .. }) = outcome {
        for call in state.interruptions() {
            state.decide(&call.id, Decision::approve().by("ada"))?;
        }
        outcome = runner.run(&agent(), state).until_paused().await?;
    }
    assert_eq!(told(&inline), told(&durable));
    let seen = seen.lock().expect("not poisoned");
    let deltas = seen.iter().filter(|event| matches!(event.kind, EventKind::ToolOutputDelta { .. })).count();
    assert_eq!(deltas, 1);
    let mut of_history = facts(&of_history);
    let mut of_inline = facts(&seen);
    of_history.dedup();
    of_inline.dedup();
    assert_eq!(of_history, of_inline);
    working.abort();
    Ok(())
}

#[tokio::test]
async fn a_device_that_announces_no_mode_asks() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, None).await?;

    let durable = model(&calls());
    let env = environment(&durable, channels.clone(), Setting::default()).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("ada")).await?;
    let handle = env.agent_handle(&started).by("ada");
    let asked = handle.wait_for_interruptions().await?;
    assert_eq!((asked.len(), &*asked[0].tool, laptop.effects()), (1, "dev_laptop_run_command", 0));
    handle.approve(&*asked[0].id).await?;
    let asked = handle.wait_for_interruptions().await?;
    assert_eq!((asked.len(), &*asked[0].tool, laptop.effects()), (1, "dev_laptop_read", 1));
    handle.reject(&*asked[0].id, "Not this one.").await?;
    let run = env.await_run(&started).await?;
    env.replay(&run.history).await?;
    assert_eq!(run.output()?, json!("done"));
    env.finish().await?;
    assert_eq!(laptop.effects(), 1);

    // A gate of the run decides alone.
    let inline = model(&calls());
    let runner = runner(&inline, DeviceGateway::new(channels));
    let outcome = runner.clone().gate(Gate::new(GateMode::Autonomous)).run(&agent(), "Work.").await?;
    assert_eq!((&*outcome.final_output, laptop.effects()), ("done", 3));

    let RunOutcome::Paused(paused) = runner.run(&agent(), "Work.").until_paused().await? else {
        anyhow::bail!("it asks nobody")
    };
    let waiting: Vec<String> = paused.state.interruptions().into_iter().map(|call| call.tool).collect();
    assert_eq!((waiting, laptop.effects()), (vec!["dev_laptop_run_command".to_owned()], 3));
    working.abort();
    Ok(())
}

#[tokio::test]
async fn a_question_about_a_device_has_ten_minutes_also_after_continue_as_new() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::ApproveEach)).await?;
    let model = model(&calls());
    // The state of a run that continues as new is in its history.
    let continues = Some(ContinueOptions::builder().new_events(0).build());
    let env = environment(&model, channels, Setting { continues, ..Setting::default() }).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("ada")).await?;
    let handle = env.agent_handle(&started).by("ada");
    let before = millis(SystemTime::now());
    let asked = handle.wait_for_interruptions().await?;
    let expires_at = asked[0].expires_at.expect("questions about devices expire");
    // The clock of the workflow may lag a little behind.
    let minutes = (expires_at + 30_000 - before) / 60_000;
    assert_eq!(minutes, 10, "it expires at {expires_at}, and was asked after {before}");
    let next_execution = async {
        loop {
            let history = history::fetch(env.client(), &started.info().workflow_id, None).await?;
            let timers: Vec<i64> = history.events.iter().filter_map(timer).collect();
            if let (Some(state), false) = (continued_with(&history.events[0]), timers.is_empty()) {
                return anyhow::Ok((state, timers));
            }
            sleep(Duration::from_millis(100)).await;
        }
    };
    let (state, timers) = timeout(PATIENCE, next_execution).await??;
    assert!(timers.iter().all(|seconds| (570..=600).contains(seconds)), "{timers:?}");
    assert!(state.contains("Nobody has approved this call within 10 minutes."), "{state}");
    handle.approve(&*asked[0].id).await?;
    let asked = handle.wait_for_interruptions().await?;
    assert!(asked[0].expires_at.is_some_and(|next| next >= expires_at), "the next question has a time of its own");
    handle.approve(&*asked[0].id).await?;
    let run = env.await_run(&started).await?;
    env.replay(&run.history).await?;
    env.finish().await?;
    working.abort();
    Ok(())
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970");
    u64::try_from(since.as_millis()).expect("it fits")
}

/// The input of an execution that continues another.
fn continued_with(event: &HistoryEvent) -> Option<String> {
    match event.attributes.as_ref()? {
        Attributes::WorkflowExecutionStartedEventAttributes(started)
            if !started.continued_execution_run_id.is_empty() =>
        {
            let payloads = &started.input.as_ref()?.payloads;
            Some(payloads.iter().map(|payload| String::from_utf8_lossy(&payload.data).into_owned()).collect())
        }
        _ => None,
    }
}

/// The seconds of the timer that an event starts.
fn timer(event: &HistoryEvent) -> Option<i64> {
    match event.attributes.as_ref()? {
        Attributes::TimerStartedEventAttributes(started) => Some(started.start_to_fire_timeout?.seconds),
        _ => None,
    }
}

#[tokio::test]
async fn a_device_of_the_same_process_is_called_without_channels() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let gateway = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&gateway, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_held", json!({}))]);
    let runner = runner(&model, gateway);
    let agent = agent();
    let running = runner.run(&agent, "Work.");
    let meanwhile = async {
        laptop.begun.notified().await;
        channels.clear();
        laptop.ends.notify_one();
    };
    let (ended, ()) = tokio::join!(running.into_future(), meanwhile);
    ended?;
    assert_eq!(told(&model), ["ended"]);
    working.abort();
    Ok(())
}

#[tokio::test]
async fn a_call_whose_worker_was_killed_is_joined_and_has_one_effect() -> anyhow::Result<()> {
    let server = RedisServer::start().await?;
    let channels = RedisTransport::new(&server.url())?;
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_held", json!({}))]);
    let mut env = environment(&model, channels, Setting::default()).await?;
    let started = env.start_workflow(AgentWorkflow::run, request("ada")).await?;
    timeout(PATIENCE, laptop.begun.notified()).await?;
    env.kill_worker().await?;
    env.start_worker()?;
    // The device ends before, or after, the next attempt asks.
    sleep(Duration::from_millis(200)).await;
    laptop.ends.notify_one();
    let run = env.await_run(&started).await?;
    env.replay(&run.history).await?;
    run.output()?;
    assert_eq!(told(&model), ["ended"]);
    assert_eq!(laptop.effects(), 1);
    env.finish().await?;
    working.abort();
    Ok(())
}

#[tokio::test]
async fn a_device_that_leaves_in_mid_call_leaves_an_unknown_outcome() -> anyhow::Result<()> {
    let channels = MemoryTransport::new();
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_held", json!({})), ("dev_laptop_read", json!({}))]);
    let runner = runner(&model, DeviceGateway::new(channels));
    let agent = agent();
    let running = runner.run(&agent, "Work.");
    let meanwhile = async {
        laptop.begun.notified().await;
        working.abort();
    };
    let (ended, ()) = tokio::join!(running.into_future(), meanwhile);
    ended?;
    let told = told(&model);
    assert_eq!(told[0], OUTCOME_UNKNOWN);
    assert!(told[1].contains("device 'laptop' is offline") && told[1].contains("device_offline"), "{}", told[1]);
    assert_eq!(laptop.effects(), 1);
    Ok(())
}

#[tokio::test]
async fn redis_that_loses_everything_in_mid_call_changes_nothing() -> anyhow::Result<()> {
    let mut server = RedisServer::start().await?;
    let channels = RedisTransport::new(&server.url())?;
    let holder = DeviceGateway::new(channels.clone());
    let laptop = Laptop::default();
    let working = laptop.connect(&holder, Some(GateMode::Autonomous)).await?;
    let model = model(&[("dev_laptop_held", json!({}))]);
    let runner = runner(&model, DeviceGateway::new(channels));
    let agent = agent();
    let running = runner.run(&agent, "Work.");
    let meanwhile = async {
        laptop.begun.notified().await;
        server.restart().await.expect("it restarts");
        while holder.find_device("ada", "laptop").await.ok().flatten().is_none() {
            sleep(Duration::from_millis(20)).await;
        }
        laptop.ends.notify_one();
    };
    let (ended, ()) = tokio::join!(running.into_future(), meanwhile);
    ended?;
    assert_eq!(told(&model), ["ended"]);
    assert_eq!(laptop.effects(), 1);
    working.abort();
    Ok(())
}
