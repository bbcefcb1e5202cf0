//! A server, and a worker on it that sends traces.

use std::collections::BTreeMap;

use serde_json::json;
use temporal_agents::{
    AgentsPlugin,
    trace::{Otlp, Tracing},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, ReplayCheck, environment::WorkerThread, fake_model::text, history,
};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::{
    HasWorkflowDefinition, WorkflowDefinition,
    protos::temporal::api::common::v1::{Header, Payload},
};
use temporalio_sdk::{WorkerOptions, workflows::WorkflowImplementation};

use super::collector::Span;

pub(super) const QUEUE: &str = "traced";

pub(super) struct Traced {
    pub(super) env: AgentEnvironment,
    pub(super) tracing: Tracing,
    _worker: WorkerThread,
}

impl Traced {
    pub(super) async fn start<W>(url: &str, plugin: AgentsPlugin, has_cache: bool) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        Self::start_to::<W>(Otlp::new(url)?, plugin, has_cache).await
    }

    /// Starts a worker that sends traces to this collector.
    pub(super) async fn start_to<W>(otlp: Otlp, plugin: AgentsPlugin, has_cache: bool) -> anyhow::Result<Self>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        // The worker of the environment receives nothing: it polls another queue.
        let unused = FakeModel::function(|_, _| text("unused"));
        let env = AgentEnvironment::builder().workflow::<W>()?.model(&unused).start().await?;
        let tracing = Tracing::new(env.client(), otlp);
        let options = WorkerOptions::new(QUEUE).register_workflow::<W>()?.build();
        Self::on(env, tracing, plugin, options, has_cache)
    }

    /// Starts a worker with the ready-made workflow of these agents.
    pub(super) async fn start_set(
        tracing: impl FnOnce(&AgentEnvironment) -> anyhow::Result<Tracing>,
        plugin: AgentsPlugin,
        set: fn() -> AgentSet,
        has_cache: bool,
    ) -> anyhow::Result<Self> {
        let unused = FakeModel::function(|_, _| text("unused"));
        let factory = AgentWorkflow::factory(set());
        let builder = AgentEnvironment::builder().workflow_with_factory::<AgentWorkflow, _>(factory)?;
        let env = builder.model(&unused).start().await?;
        let tracing = tracing(&env)?;
        let factory = AgentWorkflow::factory(set());
        let options = WorkerOptions::new(QUEUE).register_workflow_with_factory::<AgentWorkflow, _>(factory)?.build();
        Self::on(env, tracing, plugin, options, has_cache)
    }

    /// Starts a worker with the ready-made chat of these agents.
    pub(super) async fn start_chats(
        tracing: impl FnOnce(&AgentEnvironment) -> anyhow::Result<Tracing>,
        plugin: AgentsPlugin,
        set: fn() -> AgentSet,
        has_cache: bool,
    ) -> anyhow::Result<Self> {
        let unused = FakeModel::function(|_, _| text("unused"));
        let factory = ChatWorkflow::factory(set());
        let builder = AgentEnvironment::builder().workflow_with_factory::<ChatWorkflow, _>(factory)?;
        let env = builder.model(&unused).start().await?;
        let tracing = tracing(&env)?;
        let factory = ChatWorkflow::factory(set());
        let options = WorkerOptions::new(QUEUE).register_workflow_with_factory::<ChatWorkflow, _>(factory)?.build();
        Self::on(env, tracing, plugin, options, has_cache)
    }

    fn on(
        env: AgentEnvironment,
        tracing: Tracing,
        plugin: AgentsPlugin,
        mut options: WorkerOptions,
        has_cache: bool,
    ) -> anyhow::Result<Self> {
        if !has_cache {
            options.max_cached_workflows = 0;
        }
        plugin.tracing(&tracing).install(&mut options)?;
        let worker = WorkerThread::start(env.server().target_url(), env.server().namespace(), options)?;
        Ok(Self { env, tracing, _worker: worker })
    }

    /// Runs a workflow to its end, with this header of a caller, and waits until its spans are
    /// sent.
    pub(super) async fn run<W>(&self, run: W, input: W::Input, id: &str, caller: Option<&str>) -> anyhow::Result<()>
    where
        W: HasWorkflowDefinition + WorkflowDefinition + 'static,
        W::Input: Send,
    {
        let fields: Vec<_> = caller.map(|traceparent| ("traceparent", traceparent)).into_iter().collect();
        self.run_with(run, input, id, &fields).await
    }

    /// Runs a workflow with these fields of a caller's context.
    pub(super) async fn run_with<W>(
        &self,
        run: W,
        input: W::Input,
        id: &str,
        fields: &[(&str, &str)],
    ) -> anyhow::Result<()>
    where
        W: HasWorkflowDefinition + WorkflowDefinition + 'static,
        W::Input: Send,
    {
        let mut options = WorkflowStartOptions::new(QUEUE, id).build();
        options.header = (!fields.is_empty()).then(|| header_of(fields));
        let handle = self.env.client().start_workflow(run, input, options).await?;
        handle.get_result(WorkflowGetResultOptions::default()).await?;
        self.tracing.flush().await;
        Ok(())
    }
}

/// The header with these fields of a caller's context.
pub(super) fn header_of(fields: &[(&str, &str)]) -> Header {
    let fields: BTreeMap<&str, &str> = fields.iter().copied().collect();
    let metadata = [("encoding".to_owned(), b"json/plain".to_vec())].into_iter().collect();
    let payload = Payload { metadata, data: json!(fields).to_string().into_bytes(), ..Payload::default() };
    Header { fields: [("_tracer-data".to_owned(), payload)].into_iter().collect() }
}

/// Replays the history of a ready-made workflow of these agents, also without a cache.
pub(super) async fn replay(env: &AgentEnvironment, id: &str, set: fn() -> AgentSet) -> anyhow::Result<()> {
    let history = history::fetch(env.client(), id, None).await?;
    let replays = ReplayCheck::new().workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set()))?;
    replays.replay(&history).await?;
    replays.replay_without_cache(&history).await?;
    Ok(())
}

/// Name, parent and attributes of spans, by their ids.
pub(super) fn by_id(spans: &[Span]) -> BTreeMap<&str, (&str, &str, String)> {
    let told = |span: &Span| json!(span.attributes).to_string();
    spans.iter().map(|span| (&*span.id, (&*span.name, &*span.parent, told(span)))).collect()
}
