//! Traces of workflows that run at the same time on one worker.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::future::try_join_all;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::{AgentRequest, ModelCall},
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_calls},
};
use tokio::time::sleep;

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::{Traced, by_id, replay},
};

/// Takes a while.
#[tool]
async fn dig(meters: u64) -> String {
    sleep(Duration::from_millis(20 * meters)).await;
    format!("{meters} m")
}

fn lead() -> Agent {
    let helper = Agent::new("helper").model("gpt-5").tool(dig);
    Agent::new("lead").model("gpt-5").tool(dig).tool(helper.as_tool())
}

fn set() -> AgentSet {
    AgentSet::new((lead,))
}

fn answer(call: &ModelCall) -> Reply {
    match (&*call.agent, call.turn) {
        ("lead", 1) => tool_calls([("dig", json!({"meters": 3})), ("helper", json!({"input": "Dig."}))]),
        ("helper", 1) => tool_calls([("dig", json!({"meters": 1})), ("dig", json!({"meters": 2}))]),
        _ => text("done"),
    }
}

const TREE: &str = "\
invoke_workflow AgentWorkflow
  invoke_agent lead
    call_model gpt-5
      chat gpt-5
    call_tool dig
      execute_tool dig
    execute_tool helper helper
      invoke_agent helper
        call_model gpt-5
          chat gpt-5
        call_tool dig
          execute_tool dig
        call_tool dig
          execute_tool dig
        call_model gpt-5
          chat gpt-5
    call_model gpt-5
      chat gpt-5";

/// The spans by their trace.
fn by_trace(spans: Vec<Span>) -> BTreeMap<String, Vec<Span>> {
    let mut traces: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for span in spans {
        traces.entry(span.trace.clone()).or_default().push(span);
    }
    traces
}

#[rstest]
#[tokio::test]
async fn each_workflow_has_a_trace_of_its_own_and_only_its_spans(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let url = collector.url.clone();
    let plugin = AgentsPlugin::new(FakeModel::function(|call, _| answer(call))).agent(lead);
    let tracing = |env: &AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, set, has_cache).await?;
    let ids = ["one", "two", "three", "four"];
    // Two of them have callers, each in a trace of its own.
    let caller = |number: usize| (number < 2).then(|| format!("00-{number:031}7-00f067aa0ba902b7-01"));
    let running = ids.iter().enumerate().map(|(number, id)| {
        let (caller, traced) = (caller(number), &traced);
        async move { traced.run(AgentWorkflow::run, AgentRequest::new("lead", "Go."), id, caller.as_deref()).await }
    });
    try_join_all(running).await?;
    let live = collector.spans(ids.len() * TREE.lines().count()).await?;
    let mut of_history = Vec::new();
    for id in ids {
        let count = export_workflow(traced.env.client(), id, &Otlp::new(&collector.url)?).await?;
        of_history.extend(collector.spans(count).await?);
    }
    check_conventions(&live);
    let (live, of_history) = (by_trace(live), by_trace(of_history));
    assert_eq!(live.len(), ids.len(), "{:?}", live.keys());
    let of_callers: BTreeSet<String> = (0..2).map(|number| format!("{number:031}7")).collect();
    assert!(of_callers.iter().all(|trace| live.contains_key(trace)), "{:?}", live.keys());
    for (trace, spans) in &live {
        assert_eq!(tree(spans), TREE);
        assert_eq!(by_id(spans), by_id(&of_history[trace]));
        let workflows: BTreeSet<String> =
            spans.iter().map(|span| span.attributes["temporalWorkflowID"].to_string()).collect();
        assert_eq!(workflows.len(), 1, "{workflows:?}");
    }
    for id in ids {
        replay(&traced.env, id, set).await?;
    }
    traced.env.finish().await?;
    Ok(())
}
