//! Spans that the author of a workflow opens, and the rest of a caller's context.

use std::collections::BTreeSet;

use opentelemetry::{Context, baggage::BaggageExt, trace::TraceContextExt};
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Runner,
    agent::ChildAgent,
    tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::AgentRequest,
    workflow::{self, AgentSet, AgentWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, text, tool_call, tool_calls},
    history, replay_without_cache,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{
    collector::{Collector, Span, tree},
    traced::Traced,
};
use crate::transcript::archive::{desk, script};

/// Opens a span around a run, and one inside it.
#[workflow]
#[derive(Default)]
pub(crate) struct Sorting;

#[workflow_methods]
impl Sorting {
    #[run(name = "sorting")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let runner = Runner::new(ctx);
        let sorted = workflow::span(ctx, "sort", async {
            workflow::span(ctx, "glance", async {}).await;
            runner.run(&desk(), question).await
        });
        Ok(sorted.await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn spans_of_the_author_are_sent_once_and_not_on_replay(
    #[values(true, false)] has_cache: bool,
) -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let plugin = AgentsPlugin::new(script()).agent(desk);
    let traced = Traced::start::<Sorting>(&collector.url, plugin, has_cache).await?;
    traced.run(Sorting::run, "Go.".to_owned(), "sorted", None).await?;
    let history = history::fetch(traced.env.client(), "sorted", None).await?;
    replay_without_cache::<Sorting>(&history).await?;
    let count = export_workflow(traced.env.client(), "sorted", &Otlp::new(&collector.url)?).await?;
    let live = collector.spans(count + 2).await?;
    let tree = tree(&live);
    assert!(tree.contains("\n  sort\n    glance\n"), "{tree}");
    traced.env.finish().await?;
    Ok(())
}

/// Returns the state and the baggage of the trace in which it runs.
#[tool]
async fn luggage() -> String {
    let context = Context::current();
    let (state, user) = (context.span().span_context().trace_state().header(), context.baggage().get("user"));
    format!("{state} {}", user.map_or_else(String::new, ToString::to_string))
}

fn porter() -> Agent {
    Agent::new("porter").model("gpt-5").tool(luggage)
}

fn lead() -> Agent {
    let elsewhere = porter().as_tool().name("delegate").description("Delegates.").in_child_workflow(ChildAgent::new());
    Agent::new("lead").model("gpt-5").tool(luggage).tool(elsewhere)
}

fn restless() -> AgentSet {
    AgentSet::new((lead, porter)).continue_when(ContinueOptions::builder().new_events(0).build())
}

#[tokio::test]
async fn the_state_and_the_baggage_of_a_caller_reach_tools_child_workflows_and_later_executions() -> anyhow::Result<()>
{
    let mut collector = Collector::start().await?;
    let model = FakeModel::function(|call, _| -> Reply {
        match (&*call.agent, call.turn) {
            ("lead", 1 | 2) => tool_calls([("luggage", json!({})), ("delegate", json!({"input": "b"}))]),
            ("porter", 1) => tool_call("luggage", json!({})),
            _ => text("done"),
        }
    });
    let plugin = AgentsPlugin::new(model.clone()).agents((lead, porter));
    let url = collector.url.clone();
    let tracing =
        move |env: &temporal_agents_testing::AgentEnvironment| Ok(Tracing::new(env.client(), Otlp::new(&url)?));
    let traced = Traced::start_set(tracing, plugin, restless, true).await?;
    let fields = [
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", "vendor=a1"),
        ("baggage", "user=ada"),
    ];
    let request: AgentRequest = serde_json::from_value(json!({"agent": "lead", "input": "Go."}))?;
    traced.run_with(AgentWorkflow::run, request, "travelling", &fields).await?;
    let mut carried = BTreeSet::new();
    for call in model.calls() {
        for output in call.input.iter().filter_map(|item| item.get("output")) {
            if *output == json!("vendor=a1 ada") {
                carried.insert((call.agent.clone(), call.turn));
            } else {
                assert_eq!(*output, json!("done"));
            }
        }
    }
    let expected = [("lead", 2), ("lead", 3), ("porter", 2)].map(|(agent, turn)| (agent.to_owned(), turn));
    assert_eq!(carried, expected.into());
    let spans: Vec<Span> = collector.spans(10).await?;
    let executions: BTreeSet<String> = spans.iter().map(|span| span.attributes["temporalRunID"].to_string()).collect();
    assert!(executions.len() > 2, "{executions:?}");
    traced.env.finish().await?;
    Ok(())
}
