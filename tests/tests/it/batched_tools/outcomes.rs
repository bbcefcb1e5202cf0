//! A run with batches ends as one without: outputs, failures, context, items, facts, model calls.

use std::collections::BTreeMap;

use futures::StreamExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    client::{RunEvents, transcript::Transcript},
    wire::{EventKind, RunEvent},
};
use temporal_agents_testing::history::{self, History};
use temporalio_common::data_converters::DataConverter;

use super::{Batches, Desk, Log, tool_activities, ways};
use crate::examples::{Cache, histories};

/// What is known of a run from outside.
#[derive(Debug, PartialEq)]
struct Observed {
    output: Value,
    counts: BTreeMap<String, usize>,
    /// The input of each model call.
    asked: Vec<Vec<Value>>,
    /// The facts, without what every execution has anew.
    facts: Vec<Value>,
    /// Name, status, attempts and output of each call, as the transcript has them.
    tools: Vec<Value>,
}

/// The fact without its ids of the execution and its times; the retries of a batch are those of its server.
fn settled(event: &RunEvent) -> Value {
    let mut json = serde_json::to_value(event).expect("events are JSON");
    for member in ["cursor", "time", "run", "workflow"] {
        json.as_object_mut().expect("an object").remove(member);
    }
    let id = event.id.split_once('/').map_or("", |(_, local)| local).to_owned();
    json["id"] = json!(id);
    // The server wraps the last timeout of an activity in another one.
    if let Some(failure) = json.get_mut("failure").and_then(Value::as_object_mut) {
        failure.remove("cause");
    }
    json
}

async fn observed(cache: Cache, batches: Batches, asked_for: &[&'static str]) -> anyhow::Result<(Observed, History)> {
    let (model, log) = (ways(asked_for.iter().copied()), Log::default());
    let env = cache.environment::<Desk>()?.model(&model).state(log.clone()).agents((super::desk,)).start().await?;
    let run = env.run(Desk::run, batches).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    let id = run.workflow_id.clone();
    histories::<Desk>(&env, &id).await?;
    let events: Vec<RunEvent> =
        RunEvents::new(env.client()).watch(&id).map(|event| event.expect("facts are read")).collect().await;
    let mut facts: Vec<Value> = events.iter().map(settled).collect();
    // Activities of their own end in any order.
    facts.sort_by_key(|fact| fact["id"].to_string());
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::ToolCall { .. })));
    let history = history::fetch(env.client(), &id, None).await?;
    let transcript = Transcript::of_history(history.clone(), &DataConverter::default()).await?;
    assert!(transcript.calls().iter().all(|call| call.incomplete_input.is_none()), "{transcript}");
    let tools = transcript.runs.iter().flat_map(|run| &run.turns).flat_map(|turn| &turn.tools);
    let tools = tools.map(|tool| {
        let json = serde_json::to_value(tool).expect("transcripts are JSON");
        let activity = &json["activity"];
        json!([json["name"], json["arguments"], json["output"], activity["status"], activity["attempts"]])
    });
    let tools = tools.collect();
    let asked = model.calls().iter().map(|call| call.input.iter().map(|item| json!(item)).collect()).collect();
    let observed = Observed { output: run.output()?, counts: log.counts(), asked, facts, tools };
    if !asked_for.contains(&"ends the run") {
        env.finish().await?;
    }
    Ok((observed, history))
}

#[rstest]
#[case::outputs(&["one", "two", "three"])]
#[case::failures(&["told", "one", "fails"])]
#[case::retries(&["one", "flaky", "always busy", "panics"])]
#[case::a_call_that_never_ends(&["late", "one"])]
#[case::an_output_above_the_limit(&["huge", "one"])]
#[case::changes_to_the_run_context_in_call_order(&["notes", "notes again", "one"])]
#[tokio::test]
async fn a_run_with_batches_ends_as_one_without(
    #[case] asked_for: &[&'static str],
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (without, history) = observed(cache, Batches::Off, asked_for).await?;
    assert_eq!(tool_activities(&history), vec!["agents.tool.act"; asked_for.len()]);
    let (with, history) = observed(cache, Batches::On, asked_for).await?;
    assert_eq!(tool_activities(&history), ["agents.call_tools"]);
    assert_eq!(with.output, without.output);
    assert_eq!(with.counts, without.counts);
    assert_eq!(with.asked, without.asked);
    assert_eq!(with.tools, without.tools);
    assert_eq!(with.facts, without.facts);
    Ok(())
}

#[tokio::test]
async fn a_call_that_ends_the_run_cancels_the_others_of_its_batch() -> anyhow::Result<()> {
    let (observed, history) = observed(Cache::On, Batches::On, &["late", "ends the run", "one"]).await?;
    let error = observed.output["error"].to_string();
    assert!(error.contains("nothing goes any more"), "{error}");
    assert_eq!(tool_activities(&history), ["agents.call_tools"]);
    // Without the cancellation, the call that never ends would have had three attempts.
    assert_eq!(observed.counts["late"], 1);
    Ok(())
}
