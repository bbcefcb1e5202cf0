//! A desk in two versions, and deploys.

use serde_json::{Value, json};
use temporal_agents::{
    Agent, AgentsPlugin, Tool, tool,
    wire::{ModelCall, ToolSpec},
    workflow::AgentSet,
};
use temporal_agents_core::wire::digest::Digest;
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::WorkerThread,
    fake_model::{Reply, text, tool_call},
    history::History,
};
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    WorkflowDefinition,
    protos::temporal::api::{enums::v1::EventType, history::v1::history_event::Attributes},
};
use temporalio_sdk::{
    WorkerOptions,
    workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions},
};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

use crate::examples::Cache;

/// Orders an article.
#[tool]
pub(crate) async fn order(article: String) -> String {
    format!("{article} is ordered")
}

/// Orders an article.
#[tool(name = "order")]
pub(crate) async fn order_with_details(article: String, details: Option<String>) -> String {
    format!("{article} is ordered, {}", details.unwrap_or_else(|| "as it is".to_owned()))
}

pub(crate) fn desk() -> Agent {
    Agent::new("desk").model("gpt-5").tool(order.needs_approval())
}

pub(crate) fn desk_v2() -> Agent {
    Agent::new("desk").model("gpt-5").tool(order_with_details.needs_approval())
}

pub(crate) fn before() -> AgentSet {
    AgentSet::new((desk,))
}

pub(crate) fn after() -> AgentSet {
    before().version("details", (desk_v2,))
}

/// The answers of a model that orders a pen for each message, and reports what the tool has returned.
pub(crate) fn clerk() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        match call.input.last().and_then(|item| item.get("output")) {
            Some(output) => text(output.as_str().unwrap_or_default()),
            None if takes_details(call) => tool_call("order", json!({"article": "pen", "details": null})),
            None => tool_call("order", json!({"article": "pen"})),
        }
    })
}

fn takes_details(call: &ModelCall) -> bool {
    call.definitions.tools.iter().any(|tool| match tool {
        ToolSpec::Function { parameters, .. } => parameters["properties"].get("details").is_some(),
        ToolSpec::Hosted { .. } => false,
    })
}

/// An environment of the build after a deploy, and a worker of the build before in the place of its own.
pub(crate) struct Deploy {
    pub(crate) env: AgentEnvironment,
    old: Option<WorkerThread>,
}

impl Deploy {
    pub(crate) async fn before(mut env: AgentEnvironment, options: WorkerOptions) -> anyhow::Result<Self> {
        env.stop_worker().await?;
        let old = WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?;
        Ok(Self { env, old: Some(old) })
    }

    /// Both workers have the workflow `W`, each made by its factory, and the agents of its set.
    pub(crate) async fn of_sets<W>(
        cache: Cache,
        model: &FakeModel,
        [before, after]: [AgentSet; 2],
        factories: [Box<dyn Fn() -> W + Send + Sync>; 2],
    ) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        let [old, new] = factories.map(std::sync::Arc::from);
        let new: std::sync::Arc<dyn Fn() -> W + Send + Sync> = new;
        let env = AgentEnvironment::builder().workflow_with_factory::<W, _>(move || new())?;
        let env = if cache == Cache::Off { env.without_workflow_cache() } else { env };
        let env = Box::pin(env.model(model).agents(&after).start()).await?;
        let old: std::sync::Arc<dyn Fn() -> W + Send + Sync> = old;
        let options = WorkerOptions::new(env.task_queue());
        let mut options = options.register_workflow_with_factory::<W, _>(move || old())?.build();
        if cache == Cache::Off {
            options.max_cached_workflows = 0;
        }
        AgentsPlugin::new(model.clone()).agents(&before).install(&mut options)?;
        Self::before(env, options).await
    }

    /// Stops the old worker, and starts the new one.
    pub(crate) async fn now(&mut self) -> anyhow::Result<()> {
        if let Some(mut old) = self.old.take() {
            // Off the test's runtime: what the worker waits for may be served there.
            tokio::task::spawn_blocking(move || old.stop()).await??;
        }
        Ok(self.env.start_worker()?)
    }
}

/// Replays a history as workers with a workflow cache and without one do.
pub(crate) async fn replays<W>(history: &History, factory: impl Fn() -> W + Send + Sync + 'static) -> anyhow::Result<()>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    let options = WorkflowReplayerOptions::new().register_workflow_with_factory::<W, _>(factory)?.build();
    let replayer = WorkflowReplayer::new(options)?;
    replayer.replay_workflow(WorkflowHistory::from(history.clone())).await?;
    for (place, event) in history.events.iter().enumerate() {
        if event.event_type() == EventType::WorkflowTaskStarted {
            let seen = History { events: history.events[..=place].to_vec() };
            replayer.replay_workflow(WorkflowHistory::from(seen)).await?;
        }
    }
    Ok(())
}

/// The requests of tool calls of a history.
fn tool_requests(history: &History) -> Vec<Value> {
    let scheduled = history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => Some(scheduled),
        _ => None,
    });
    let of_tools = scheduled
        .filter(|scheduled| scheduled.activity_type.as_ref().is_some_and(|kind| kind.name.starts_with("agents.tool.")));
    let request = |payloads: &temporalio_common::protos::temporal::api::common::v1::Payloads| {
        serde_json::from_slice(&payloads.payloads[0].data).expect("requests are JSON")
    };
    of_tools.filter_map(|scheduled| scheduled.input.as_ref().map(request)).collect()
}

/// The digest in each request of a tool call.
pub(crate) fn digests(history: &History) -> Vec<Option<Digest>> {
    let digest = |request: Value| serde_json::from_value(request.get("schema").cloned().unwrap_or_default());
    tool_requests(history).into_iter().map(|request| digest(request).expect("a digest")).collect()
}

/// The patches whose markers a history has, without those that the library records for any run.
pub(crate) fn patches(history: &History) -> Vec<String> {
    let marker = |attributes: &Attributes| match attributes {
        Attributes::MarkerRecordedEventAttributes(marker) => {
            let data = marker.details.get("patch-data")?.payloads.first()?;
            let data: Value = serde_json::from_slice(&data.data).expect("patches are JSON");
            Some(data["id"].as_str().unwrap_or_default().to_owned())
        }
        _ => None,
    };
    let patches = history.events.iter().filter_map(|event| event.attributes.as_ref().and_then(marker));
    let of_any_run =
        ["questions", "unfit-run", "continued-run", "run-noted"].map(|kind| format!("temporal-agents/{kind}"));
    patches.filter(|patch| !of_any_run.iter().any(|kind| patch.starts_with(kind))).collect()
}
