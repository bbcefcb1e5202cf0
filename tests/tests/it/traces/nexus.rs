//! The context of a trace in the headers of Nexus operations.

use std::{collections::BTreeMap, time::Duration};

use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, RunConfig, Runner, ToolDef,
    tool::NexusOperation,
    trace::{Otlp, export_workflow},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
    history, replay_without_cache,
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{
    collector::{Collector, check_conventions, tree},
    traced::Traced,
};

const ENDPOINT: &str = "shipping";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn shipper() -> Agent {
    // Nobody performs it.
    let operation =
        NexusOperation::named(ENDPOINT, "Freight", "ship").schedule_to_close(Duration::from_secs(1)).idempotent(false);
    let parameters = json!({"type": "object", "properties": {}});
    Agent::new("shipper").model("gpt-5").tool(ToolDef::nexus_operation("ship", "Ships.", parameters, operation))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Shipping;

#[workflow_methods]
impl Shipping {
    #[run(name = "shipping")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, is_traced: bool) -> WorkflowResult<String> {
        let config = RunConfig::builder().tracing_disabled(!is_traced).build();
        Ok(Runner::with_config(ctx, config).run(&shipper(), "Go.").await?.final_output)
    }
}

/// Runs the workflow below a caller; returns the headers of its operation.
async fn headers(traced: &Traced, id: &str, is_traced: bool) -> anyhow::Result<BTreeMap<String, String>> {
    let fields = [
        ("traceparent", &*format!("00-{TRACE}-b7ad6b7169203331-01")),
        ("tracestate", "vendor=a1"),
        ("baggage", "user=ada"),
    ];
    traced.run_with(Shipping::run, is_traced, id, &fields).await?;
    let history = history::fetch(traced.env.client(), id, None).await?;
    replay_without_cache::<Shipping>(&history).await?;
    let headers = history.events.into_iter().find_map(|event| match event.attributes {
        Some(Attributes::NexusOperationScheduledEventAttributes(scheduled)) => Some(scheduled.nexus_header),
        _ => None,
    });
    Ok(headers.expect("there is an operation").into_iter().collect())
}

#[tokio::test]
async fn the_context_goes_on_in_the_headers_of_a_nexus_operation() -> anyhow::Result<()> {
    let mut collector = Collector::start().await?;
    let model = FakeModel::function(|call, _| match call.turn {
        1 => tool_call("ship", json!({})),
        _ => text("done"),
    });
    let traced = Traced::start::<Shipping>(&collector.url, AgentsPlugin::new(model).agent(shipper), true).await?;
    traced.env.server().create_nexus_endpoint(ENDPOINT, "nobody").await?;
    let seen = headers(&traced, "traced", true).await?;
    let count = export_workflow(traced.env.client(), "traced", &Otlp::new(&collector.url)?).await?;
    let (live, history) = (collector.spans(count).await?, collector.spans(count).await?);
    check_conventions(&live);
    tree(&live);
    for spans in [live, history] {
        let call = spans.iter().find(|span| span.name == "execute_tool ship").expect("the call has a span");
        assert_eq!(seen["traceparent"], format!("00-{TRACE}-{}-01", call.id));
    }
    assert_eq!((&*seen["tracestate"], &*seen["baggage"]), ("vendor=a1", "user=ada"));

    let unseen = headers(&traced, "untraced", false).await?;
    assert!(unseen["traceparent"].starts_with(&format!("00-{TRACE}-")) && unseen["traceparent"].ends_with("-00"));
    assert_eq!(traced.tracing.lost(), 0);
    traced.env.finish().await?;
    Ok(())
}
