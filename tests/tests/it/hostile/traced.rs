//! Secrets, where the content of messages is captured in spans.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Map, json};
use temporal_agents::{
    Agent, AgentsPlugin, Resources, ToolError,
    metrics::Metrics,
    tool,
    tool::{Tool, ToolContext},
    trace::{Otlp, Tracing},
    wire::{ModelCall, ModelSettings},
    worker_env,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    DevServer, FakeModel,
    environment::WorkerThread,
    fake_model::{Reply, text, tool_call},
};
use temporalio_client::WorkflowGetResultOptions;
use temporalio_sdk::WorkerOptions;
use tokio::{runtime::Runtime, time::timeout};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

use super::{
    forged::{TASK_QUEUE, client, start},
    secrets::{KEY, NAME, in_all_forms, traces},
    victim::attack_with,
};
use crate::metrics::reader::Reader;

const PATIENCE: Duration = Duration::from_mins(1);
/// The variable that adds content to spans.
const CAPTURE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

#[test]
fn a_key_that_models_tools_and_errors_quote_is_in_no_span_and_no_metric_with_content() -> anyhow::Result<()> {
    let runtime = Runtime::new()?;
    let server = runtime.block_on(DevServer::start())?;
    attack_with("a traced key", &server.target_url(), [(NAME, KEY), (CAPTURE, "true")])?;
    runtime.block_on(server.shutdown());
    Ok(())
}

/// Answers with the key, or fails with it.
#[tool(attempts = 1)]
async fn quote(ctx: &mut ToolContext, fails: bool) -> Result<String, ToolError> {
    let key: String = ctx.setting("token").unwrap_or_default();
    let quoted = format!("the tool has {}", in_all_forms(&key));
    if fails { Err(ToolError::failed(quoted)) } else { Ok(quoted) }
}

fn agent() -> Agent {
    let headers = Map::from_iter([("x-tenant".to_owned(), worker_env!("AGENTS_HOSTILE_KEY"))]);
    let settings = ModelSettings::builder().extra_headers(headers).build();
    let tool = quote.definition().setting("token", worker_env!("AGENTS_HOSTILE_KEY"));
    Agent::new("clerk").model("gpt-5").settings(settings).tool(tool)
}

/// A model that repeats the key which its settings hold.
fn model() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let settings = json!(call.definitions.settings);
        let key = settings["extra_headers"]["x-tenant"].as_str().unwrap_or_default().to_owned();
        match call.input.iter().filter(|item| item.get("output").is_some()).count() {
            0 => tool_call("quote", json!({"fails": false})),
            1 => tool_call("quote", json!({"fails": true})),
            _ => text(format!("the model has {}", in_all_forms(&key))),
        }
    })
}

pub(super) fn traced_key(target: &str) -> anyhow::Result<String> {
    Runtime::new()?.block_on(trace(target))
}

async fn trace(target: &str) -> anyhow::Result<String> {
    let collector = MockServer::start().await;
    Mock::given(matchers::any()).respond_with(ResponseTemplate::new(200)).mount(&collector).await;
    let client = client(target).await?;
    let tracing = Tracing::new(&client, Otlp::new(&collector.uri())?);
    let reader = Arc::new(Reader::default());
    let metrics = Metrics::new(Arc::<Reader>::clone(&reader)).with_earlier_names();
    let mut options = WorkerOptions::new(TASK_QUEUE)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((agent,))))?
        .build();
    let resources = Resources::new().model_provider(model()).allow_env([NAME]);
    AgentsPlugin::new(resources).agents((agent,)).tracing(&tracing).metrics(&metrics).install(&mut options)?;
    let worker = WorkerThread::start(target.to_owned(), "default", options)?;
    let handle = start(&client, "AgentWorkflow", "traced", &json!("hi")).await?;
    timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await??;
    tracing.flush().await;
    let requests = collector.received_requests().await.unwrap_or_default();
    let mut sent: Vec<String> =
        requests.iter().map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect();
    for quoted in ["the tool has", "the model has"] {
        anyhow::ensure!(sent.iter().any(|body| body.contains(quoted)), "no span has {quoted:?}: {sent:?}");
    }
    let metrics = reader.all();
    anyhow::ensure!(metrics.keys().any(|(name, _)| name == "temporal_agents.runs"), "{metrics:?}");
    sent.push(format!("{metrics:?}"));
    let found: BTreeSet<String> =
        traces().into_iter().filter(|trace| sent.iter().any(|body| body.contains(&**trace))).collect();
    anyhow::ensure!(found.is_empty(), "in spans or metrics stands: {found:#?}");
    drop(worker);
    Ok("nothing of the key is in spans and metrics".to_owned())
}
