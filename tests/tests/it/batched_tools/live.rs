//! What readers see of a batch while it runs: deltas of each call, and attempts.

use std::{collections::BTreeMap, time::Duration};

use futures::StreamExt;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, ToolContext, ToolError,
    client::RunEvents,
    remote::transport::MemoryTransport,
    tool,
    wire::{AgentRequest, EventKind, RunEvent},
    worker::{BrokerDeltas, HeartbeatDeltas, InProcessDeltas, WorkflowStreamDeltas},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_calls},
    history,
};
use tokio::time::sleep;

use super::tool_activities;

/// Works in steps, and says so; the first attempt at hard ground fails half-way.
#[tool(start_to_close = "20s")]
async fn dig(ctx: &ToolContext, ground: String, steps: u32) -> Result<String, ToolError> {
    for step in 0..steps {
        ctx.progress(f64::from(step) / f64::from(steps), format!("{ground} {step};"));
        sleep(Duration::from_millis(150)).await;
        if ground == "hard" && ctx.info().attempt == 1 && step == 2 {
            return Err(ToolError::transient("the spade broke"));
        }
    }
    Ok(format!("dug in {ground} ground"))
}

fn digger() -> Agent {
    Agent::new("digger").model("gpt-5").tool(dig)
}

fn request() -> AgentRequest {
    let json = json!({"agent": "digger", "input": "Dig.", "batch_tools": true});
    serde_json::from_value(json).expect("a request")
}

async fn environment(deltas: impl FnOnce(AgentsPlugin) -> AgentsPlugin) -> anyhow::Result<AgentEnvironment> {
    let ground = |ground, steps: u32| ("dig", json!({"ground": ground, "steps": steps}));
    let model =
        FakeModel::script([tool_calls([ground("soft", 4), ground("hard", 6), ground("wet", 10)]), text("done")]);
    let factory = AgentWorkflow::factory(AgentSet::new((digger,)));
    let builder = AgentEnvironment::builder().workflow_with_factory::<AgentWorkflow, _>(factory)?;
    Ok(builder.agent(digger).model(&model).plugin(deltas).start().await?)
}

/// The texts of each call, by effect and attempt, from the ids of the deltas.
fn texts(events: &[RunEvent]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::<String, String>::new();
    for event in events {
        if let EventKind::ToolOutputDelta { delta, attempt, .. } = &event.kind {
            let (call, of_attempt) = event.id.rsplit_once('#').expect("the id of a delta");
            assert!(of_attempt.starts_with(&format!("{attempt}.")), "{}", event.id);
            let effect = call.rsplit('/').next().unwrap_or_default();
            texts.entry(format!("{effect}#{attempt}")).or_default().push_str(delta);
        }
    }
    texts
}

#[rstest]
#[case::by_heartbeat(|plugin: AgentsPlugin, _| plugin.deltas(HeartbeatDeltas::new()))]
#[case::by_the_stream_of_the_workflow(|plugin: AgentsPlugin, _| plugin.deltas(WorkflowStreamDeltas::new()))]
#[case::over_a_broker(|plugin: AgentsPlugin, broker| plugin.deltas(broker))]
#[tokio::test]
async fn deltas_of_each_call_of_a_batch_reach_readers(
    #[case] deltas: fn(AgentsPlugin, BrokerDeltas) -> AgentsPlugin,
) -> anyhow::Result<()> {
    let broker = BrokerDeltas::new(MemoryTransport::new());
    let env = environment(|plugin| deltas(plugin, broker.clone())).await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let reader = RunEvents::new(env.client()).deltas(broker);
    let events: Vec<RunEvent> = reader.watch_live(&id).map(|event| event.expect("events are read")).collect().await;
    let history = history::fetch(env.client(), &id, None).await?;
    assert_eq!(tool_activities(&history), ["agents.call_tools"]);
    let texts = texts(&events);
    for (call, ground) in ["soft", "hard", "wet"].into_iter().enumerate() {
        let first = &texts[&format!("1-tool-{call}#1")];
        assert!(first.starts_with(&format!("{ground} 0;{ground} 1;")), "{texts:?}");
        assert_eq!(first.matches(ground).count(), first.matches(';').count(), "{texts:?}");
    }
    assert!(texts["1-tool-1#2"].starts_with("hard 0;hard 1;"), "{texts:?}");
    assert_eq!(texts.len(), 4, "the calls that had ended were not made again: {texts:?}");
    let outputs: Vec<(String, u32, bool)> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolOutput { output, attempts, earlier_failure, .. } => {
                Some((output.as_str()?.to_owned(), *attempts, earlier_failure.is_some()))
            }
            _ => None,
        })
        .collect();
    let dug = |ground: &str, attempts, retried| (format!("dug in {ground} ground"), attempts, retried);
    assert_eq!(outputs, [dug("soft", 1, false), dug("hard", 2, true), dug("wet", 1, false)]);
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn attempts_at_the_open_calls_of_a_batch_are_seen() -> anyhow::Result<()> {
    let env = environment(|plugin| plugin.deltas(InProcessDeltas::new(|_| {}))).await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let reader = RunEvents::new(env.client());
    let mut seen: Vec<(String, u32, Option<String>)> = Vec::new();
    let mut running = Box::pin(env.await_run(&started));
    let run = loop {
        tokio::select! {
            run = &mut running => break run?,
            attempts = reader.attempts(&id) => {
                for event in attempts? {
                    let EventKind::AttemptDelta { effect, attempt, failure, .. } = event.kind else { continue };
                    let one = (effect, attempt, failure.map(|failure| failure.message));
                    if one.0.contains("-tool-") && !seen.contains(&one) {
                        seen.push(one);
                    }
                }
                sleep(Duration::from_millis(30)).await;
            }
        }
    };
    let has = |call: &str, attempt: u32, failure: Option<&str>| {
        seen.iter().any(|(effect, at, why)| effect == call && *at == attempt && why.as_deref() == failure)
    };
    for call in ["1-tool-0", "1-tool-1", "1-tool-2"] {
        assert!(has(call, 1, None), "{seen:?}");
    }
    assert!(has("1-tool-1", 1, Some("the spade broke")), "{seen:?}");
    assert!(seen.iter().all(|(effect, at, _)| effect == "1-tool-1" || *at == 1), "{seen:?}");
    run.output()?;
    drop(running);
    env.finish().await?;
    Ok(())
}
