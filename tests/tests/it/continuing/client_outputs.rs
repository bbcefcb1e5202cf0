//! Runs whose caller makes a large output at each turn. `AGENTS_TEST_TURNS=500` plays so many with the limits that workflows have by
//! default, and says what they took (`--nocapture`); without it they are few, and the limits small.

use futures::future::BoxFuture;
use prost::Message;
use serde_json::json;
use std::sync::Arc;
use temporal_agents::{
    Agent, Model, ModelProvider, RunConfig,
    client::AgentHandle,
    provider::ModelError,
    run::Compaction,
    tool,
    wire::{AgentRequest, DecisionAnswer, Item, ModelCall, ModelResponse, RunStatus, Usage},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{AgentEnvironment, environment::activities, history::History};
use temporalio_client::WorkflowGetResultOptions;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{HistoryEvent, history_event::Attributes},
};
use tokio::time::timeout;

use crate::PATIENCE;

use super::support::chain;

/// How large each output is.
const OUTPUT: usize = 50_000;
/// How much of the conversation is kept.
const KEPT: usize = 200_000;

/// Takes a picture of the screen of whoever asks.
#[tool(client)]
fn snapshot(number: u32) -> String;

fn watcher() -> Agent {
    Agent::new("watcher").model("gpt-5").tool(snapshot)
}

/// Asks for so many pictures, and remembers nothing.
#[derive(Clone, Copy)]
struct Snapshots(u32);

impl Model for Snapshots {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let output = if call.turn > self.0 {
            Item::assistant("The end.")
        } else {
            let (id, arguments) = (call_id(call.turn), json!({"number": call.turn}).to_string());
            let call =
                json!({"type": "function_call", "id": id, "call_id": id, "name": "snapshot", "arguments": arguments});
            Item::try_from(call).expect("a call is an object")
        };
        let response = ModelResponse::new(vec![output], Usage::default());
        Box::pin(std::future::ready(Ok(response)))
    }
}

impl ModelProvider for Snapshots {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(std::future::ready(Ok(Some(Arc::new(*self) as Arc<dyn Model>))))
    }
}

fn call_id(turn: u32) -> String {
    format!("shot_{turn}")
}

/// How long a run is, when it continues as new, and what it may take.
struct Scale {
    turns: u32,
    options: ContinueOptions,
    /// Most bytes of history of one execution, and of what is no state in it: what is new, and what models are sent once more.
    history: usize,
    new: usize,
    /// Most bytes of the state that the next one gets.
    state: usize,
}

fn scale() -> Scale {
    if let Some(turns) = std::env::var("AGENTS_TEST_TURNS").ok().and_then(|turns| turns.parse().ok()) {
        Scale { turns, options: ContinueOptions::default(), history: 10_000_000, new: 9_500_000, state: 2_000_000 }
    } else {
        let options = ContinueOptions::builder().new_bytes(1_000_000).build();
        Scale { turns: 30, options, history: 2_500_000, new: 2_000_000, state: 500_000 }
    }
}

/// What one execution took: bytes of its history, those without the states that came and went, and bytes of the state that it began with.
#[derive(Clone, Copy, Debug)]
struct Took {
    history: usize,
    new: usize,
    state: usize,
}

fn took(history: &History) -> Took {
    let loaded = |event: &HistoryEvent| match &event.attributes {
        Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) => {
            started.input.iter().flat_map(|input| &input.payloads).map(|payload| payload.data.len()).sum()
        }
        _ => 0_usize,
    };
    let chunks: usize = activities(history)
        .iter()
        .filter(|activity| activity.activity_type == "agents.load_state")
        .filter_map(|activity| result_of(history, &activity.activity_id))
        .sum();
    let state = history.events.iter().map(loaded).sum::<usize>() + chunks;
    Took { history: history.encoded_len(), new: new(history), state }
}

/// What of a history is no state that came or went.
fn new(history: &History) -> usize {
    let mut of_states = Vec::new();
    let mut bytes = 0;
    for event in &history.events {
        let is_of_a_state = match &event.attributes {
            Some(
                Attributes::WorkflowExecutionStartedEventAttributes(_)
                | Attributes::WorkflowExecutionContinuedAsNewEventAttributes(_),
            ) => true,
            Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => {
                let kind = scheduled.activity_type.as_ref().map(|kind| &*kind.name);
                let is_of_a_state = matches!(kind, Some("agents.keep_state" | "agents.load_state"));
                of_states.extend(is_of_a_state.then_some(event.event_id));
                is_of_a_state
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(done)) => {
                of_states.contains(&done.scheduled_event_id)
            }
            _ => false,
        };
        bytes += if is_of_a_state { 0 } else { event.encoded_len() };
    }
    bytes
}

/// The size of what an activity returned.
fn result_of(history: &History, activity_id: &str) -> Option<usize> {
    let scheduled = history.events.iter().find(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(activity)) => activity.activity_id == activity_id,
        _ => false,
    })?;
    history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskCompletedEventAttributes(done))
            if done.scheduled_event_id == scheduled.event_id =>
        {
            Some(done.result.iter().flat_map(|result| &result.payloads).map(|payload| payload.data.len()).sum())
        }
        _ => None,
    })
}

/// Makes all the pictures; gives what each execution took. The histories replay.
async fn run(Scale { turns, options, .. }: &Scale) -> anyhow::Result<Vec<Took>> {
    let mut config = RunConfig::default();
    config.max_turns = None;
    config.compaction = Some(Compaction::keep_newest(KEPT));
    let set = AgentSet::new((watcher,)).config(config).continue_when(options.clone());
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model_provider(Snapshots(*turns))
        .agents((watcher,))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("watcher", "Watch.")).await?;
    let agent = AgentHandle::new(env.client(), &*started.info().workflow_id);
    for turn in 1..=*turns {
        timeout(PATIENCE, supply(&agent, &call_id(turn))).await??;
    }
    let result = timeout(PATIENCE, started.get_result(WorkflowGetResultOptions::default())).await??;
    assert_eq!(result, json!("The end."));
    let histories = chain(&env, &started.info().workflow_id).await?;
    for history in &histories {
        env.replay(history).await?;
        assert!(history.events.iter().all(|event| event.event_type() != EventType::WorkflowTaskFailed));
    }
    env.finish().await?;
    let took: Vec<Took> = histories.iter().map(took).collect();
    println!("{turns} turns: {took:?}");
    Ok(took)
}

/// Supplies an output once the run waits for it. An update that reaches an execution that is just ending is sent again.
async fn supply(agent: &AgentHandle, id: &str) -> anyhow::Result<()> {
    loop {
        let Ok(state) = agent.state().await else { continue };
        anyhow::ensure!(!matches!(state.status, RunStatus::Failed | RunStatus::Cancelled), "{state:?}");
        if state.interruptions.iter().all(|interruption| interruption.id != id) {
            continue;
        }
        if let Ok(DecisionAnswer::Accepted) = agent.supply_output(id, "x".repeat(OUTPUT)).await {
            return Ok(());
        }
    }
}

#[tokio::test]
async fn outputs_that_the_caller_supplies_count_for_when_a_run_continues_as_new() -> anyhow::Result<()> {
    let scale = scale();
    let took = run(&scale).await?;
    assert!(took.iter().all(|took| took.new < scale.new), "{took:?}");
    assert!(took.len() > 1, "{took:?}");
    Ok(())
}

#[tokio::test]
async fn a_state_does_not_grow_with_the_outputs_that_the_caller_has_supplied() -> anyhow::Result<()> {
    let scale = scale();
    let took = run(&scale).await?;
    assert!(took.iter().all(|took| took.state < scale.state && took.history < scale.history), "{took:?}");
    Ok(())
}
