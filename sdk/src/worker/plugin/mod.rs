//! The configuration of a worker that runs agents: providers, states, and the tools of its agents,
//! checked before it starts.

mod agents_worker;
mod caller_trace;
mod guardrails;
mod install_error;
mod mcp;
mod shared_activities;
mod specs;
mod tools;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use futures::FutureExt;
use serde::Serialize;
use serde_json::Value;
use temporal_agents_core::{
    agent::{AgentDef, AgentSource, AgentSources, Graph},
    drive::installed::plugin_installed,
    tool::{Tool, ToolBinding, ToolDef},
    wire::{MODEL_ACTIVITY, conversation::RECORD_ACTIVITY, session_call::SESSION_ACTIVITY, tool_call::TOOL_PREFIX},
};
use temporalio_common::error::ApplicationFailure;
use temporalio_sdk::{WorkerOptions, activities::ActivityError};
use temporalio_workflow::workflow_interceptors::WorkflowInterceptorConstructor;

#[cfg(feature = "nexus")]
use self::shared_activities::looking_up_endpoints;
pub use self::{
    agents_worker::{AgentsWorker, AgentsWorkerError},
    install_error::{InstallError, InstallIssue},
};
use self::{
    caller_trace::CallerTrace,
    shared_activities::{batches_of, state_activities},
    tools::runs_on,
};
use super::{model_activity::ModelActivity, run_watch::RunWatch};
use crate::{
    activity::{
        heartbeat::HeartbeatSender,
        log_span::in_span,
        message::Reply,
        record,
        registration::{Body, NamedActivities, of_values},
        session,
        tool::ToolActivity,
        tool_versions::ToolVersions,
    },
    conversations::{ConversationCache, ForgetEnded},
    deltas::{DeltaTransport, Deltas},
    metrics::Metrics,
    resources::Resources,
    secret::Destination,
    workflow::headers::{ToolCallHeader, TraceHeader},
};

/// Registers with a worker the model activity and the tools of its agents, after checking that
/// everything they need is available.
///
/// ```no_run
/// use temporal_agents::{Agent, AgentsPlugin, Resources, provider::OpenAi};
/// use temporalio_sdk::WorkerOptions;
/// # #[derive(Clone)]
/// # struct WeatherApi;
/// # impl WeatherApi { fn new() -> Self { Self } }
/// # #[temporalio_macros::workflow]
/// # #[derive(Default)]
/// # pub struct Support;
/// # #[temporalio_macros::workflow_methods]
/// # impl Support {
/// #     #[run]
/// #     pub async fn run(
/// #         _ctx: &mut temporalio_sdk::WorkflowContext<Self>,
/// #     ) -> temporalio_sdk::WorkflowResult<()> {
/// #         Ok(())
/// #     }
/// # }
///
/// fn triage() -> Agent {
///     Agent::new("triage").model("gpt-5")
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let resources =
///     Resources::new().model_provider(OpenAi::from_env()?).state(WeatherApi::new());
/// let plugin = AgentsPlugin::new(resources).agent(triage);
/// let mut options = WorkerOptions::new("support").register_workflow::<Support>()?.build();
/// plugin.install(&mut options)?;
/// # Ok(())
/// # }
/// ```
///
/// With feature `plugin` it is also a Temporal worker plugin.
#[derive(Clone, Default)]
pub struct AgentsPlugin {
    resources: Resources,
    agents: Vec<AgentDef>,
    tools: Vec<ToolDef>,
    /// The activity types of tools in several versions, all of whose calls contain their version.
    versioned: BTreeSet<String>,
    /// Names of start agents whose runs may have an output type.
    typed_starts: BTreeSet<String>,
    conversations: ConversationCache,
    without_models: bool,
    indexes_runs: bool,
    deltas: Deltas,
    metrics: Option<Metrics>,
    watch: RunWatch,
    #[cfg(feature = "otel")]
    tracing: Option<crate::trace::Tracing>,
}

impl AgentsPlugin {
    /// Creates a plugin with these resources, or with a model provider alone.
    pub fn new(resources: impl Into<Resources>) -> Self {
        Self { resources: resources.into().of_one_host(), ..Self::default() }
    }

    /// Changes the resources of a plugin: for test environments that are built step by step.
    #[doc(hidden)]
    #[must_use]
    pub fn map_resources(mut self, change: impl FnOnce(Resources) -> Resources) -> Self {
        self.resources = change(self.resources);
        self
    }

    /// Declares that this worker calls no models, also if its resources have a provider: they are
    /// called on another task queue (`ModelActivityOptions::task_queue`).
    #[must_use]
    pub fn without_models(mut self) -> Self {
        self.without_models = true;
        self
    }

    /// Declares that runs of this worker have search attributes
    /// ([`NewRun::indexed`](crate::client::NewRun::indexed)). An [`AgentsWorker`] then does not run
    /// in a namespace that lacks them; see
    /// [`check_run_attributes`](crate::client::check_run_attributes).
    #[must_use]
    pub fn indexes_runs(mut self) -> Self {
        self.indexes_runs = true;
        self
    }

    /// Adds a start agent of this worker's workflows, or a function that makes it; the tools of all
    /// agents that it can reach are registered. See [`agents`](Self::agents) for several.
    #[must_use]
    pub fn agent(self, agent: impl AgentSource) -> Self {
        self.agents(vec![agent])
    }

    /// Adds the start agents of this worker's workflows; the tools of all agents that they can
    /// reach are registered. For an `AgentSet`, as `.agents(&set)`, those of all its versions are
    /// registered, and those that agents as data may use.
    ///
    /// Tools with the same name and different parameters are versions of one tool, and run side by
    /// side; see [`ToolDef::versioned`](temporal_agents_core::tool::ToolDef::versioned).
    #[must_use]
    pub fn agents(mut self, agents: impl AgentSources) -> Self {
        self.versioned.extend(agents.versioned_tools());
        self.agents.extend(agents.spec_parts().map(|parts| parts.as_agent()));
        let runs_untyped = agents.runs_untyped();
        let agents = agents.agent_defs();
        if !runs_untyped {
            self.typed_starts.extend(agents.iter().map(|agent| agent.name.clone()));
        }
        self.agents.extend(agents);
        self
    }

    /// Sets the cache in which the worker remembers conversations; see [`ConversationCache`].
    #[must_use]
    pub fn conversation_cache(mut self, cache: ConversationCache) -> Self {
        self.conversations = cache;
        self
    }

    /// Sets the transport of deltas: with one, models stream, and readers see tokens, and what
    /// tools send, while the activities of this worker run. Default none: readers see facts only.
    ///
    /// The table in [the guide](crate::guide::watching#tokens-as-they-come) has the price of each
    /// transport. An agent with output guardrails sends no parts of its text or its reasoning.
    #[must_use]
    pub fn deltas(mut self, transport: impl DeltaTransport + 'static) -> Self {
        self.deltas.of_worker = Some(Arc::new(transport));
        self
    }

    /// Sets the transport of deltas for the calls of one agent and of its tools, in place of that
    /// of the worker. A name that no agent of the worker has changes nothing.
    #[must_use]
    pub fn agent_deltas(mut self, agent: impl Into<String>, transport: impl DeltaTransport + 'static) -> Self {
        self.deltas.of_agents.insert(agent.into(), Some(Arc::new(transport)));
        self
    }

    /// Turns off deltas for the calls of one agent and of its tools. A name that no agent of the
    /// worker has changes nothing.
    #[must_use]
    pub fn without_agent_deltas(mut self, agent: impl Into<String>) -> Self {
        self.deltas.of_agents.insert(agent.into(), None);
        self
    }

    /// Sends traces of the runs of this worker; see [`Tracing`](crate::trace::Tracing) (feature
    /// `otel`). Set again, the later one replaces the earlier one.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn tracing(mut self, tracing: &crate::trace::Tracing) -> Self {
        self.tracing = Some(tracing.clone());
        self
    }

    /// Records metrics of the runs of this worker; see [`Metrics`]. Set again, the later one
    /// replaces the earlier one.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self.deltas.metrics = Some(metrics.clone());
        self
    }

    /// Adds a tool without its agent, for a worker that only runs tools.
    #[must_use]
    pub fn tool(mut self, tool: impl Tool) -> Self {
        self.tools.push(tool.definition());
        self
    }

    /// Checks the configuration and registers the activities.
    ///
    /// # Errors
    /// [`InstallError`] with all issues; in that case nothing is registered.
    pub fn install(&self, options: &mut WorkerOptions) -> Result<(), InstallError> {
        let activities = self.activities(&options.task_queue)?;
        self.warn_about_output_types();
        options.register_activities(activities);
        plugin_installed();
        options.workflow_interceptor(self.watch.interceptor());
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(|_| ToolCallHeader));
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(|_| TraceHeader));
        if !self.install_tracing(options) {
            options.workflow_interceptor(WorkflowInterceptorConstructor::new(|_| CallerTrace::default()));
        }
        if let Some(metrics) = self.metrics.clone() {
            options.workflow_interceptor(WorkflowInterceptorConstructor::new(move |_| metrics.interceptor()));
        }
        if self.calls_models() {
            let conversations = self.conversations.clone();
            let forget = WorkflowInterceptorConstructor::new(move |_| ForgetEnded(conversations.clone()));
            options.workflow_interceptor(forget);
        }
        Ok(())
    }

    /// Warns about agents whose typed runs would fail. Only a run knows whether it is typed.
    fn warn_about_output_types(&self) {
        for agent in self.agents.iter().filter(|agent| self.typed_starts.contains(&agent.name)) {
            for issue in Graph::new(agent).check_outputs().err().into_iter().flat_map(|error| error.issues) {
                tracing::warn!(agent = agent.name, %issue, "a typed run that starts with this agent fails before its first model call");
            }
        }
    }

    /// Adds the interceptor of `Tracing`. Returns `false` without one.
    #[cfg(feature = "otel")]
    fn install_tracing(&self, options: &mut WorkerOptions) -> bool {
        let Some(interceptor) = self.tracing.as_ref().and_then(crate::trace::Tracing::interceptor) else {
            return false;
        };
        options.workflow_interceptor(WorkflowInterceptorConstructor::new(move |_| interceptor()));
        true
    }

    #[cfg(not(feature = "otel"))]
    #[expect(clippy::unused_self, reason = "with the feature `otel` it reads the plugin")]
    fn install_tracing(&self, _options: &mut WorkerOptions) -> bool {
        false
    }

    /// Returns the cache of conversations. A worker without models has an empty one, because it
    /// receives no requests for conversations.
    fn effective_cache(&self) -> ConversationCache {
        if self.calls_models() { self.conversations.clone() } else { ConversationCache::with_bytes(0) }
    }

    /// Returns `true` if the worker registers the activity of model calls.
    fn calls_models(&self) -> bool {
        !self.without_models && !self.resources.providers.is_empty()
    }

    fn activities(&self, task_queue: &str) -> Result<NamedActivities, InstallError> {
        let mut issues = Vec::new();
        let has_servers = mcp::has_any(self);
        if self.resources.providers.is_empty()
            && self.agents.is_empty()
            && self.tools.is_empty()
            && self.resources.sessions.is_empty()
            && self.resources.agents.0.is_none()
            && self.resources.transports.is_empty()
            && self.resources.toolsets.is_empty()
            && !has_servers
        {
            issues.push(InstallIssue::Empty);
        }
        if self.resources.providers.is_empty() && !self.agents.is_empty() && !self.without_models {
            issues.push(InstallIssue::NoProvider);
        }
        issues.extend(self.issues_of_specs());
        let tools = self.checked_tools(task_queue, &mut issues);
        if !issues.is_empty() {
            return Err(InstallError { issues });
        }
        let beater = HeartbeatSender::default();
        let mut activities: Vec<(String, Body)> = Vec::new();
        if self.calls_models() {
            let model = Arc::new(ModelActivity {
                providers: self.resources.providers.clone(),
                conversations: self.conversations.clone(),
                beater: beater.clone(),
                deltas: self.deltas.clone(),
                metrics: self.metrics.clone(),
            });
            let body: Body = Arc::new(move |ctx, request| {
                let model = Arc::clone(&model);
                async move { model.run(&ctx, &request).await.map(Reply::Model) }.boxed()
            });
            activities.push((MODEL_ACTIVITY.to_owned(), body));
            let conversations = self.conversations.clone();
            let body =
                of_values(move |ctx, request| std::future::ready(record::run(&conversations, &ctx, request)).boxed());
            activities.push((RECORD_ACTIVITY.to_owned(), body));
        }
        let conversations = self.effective_cache();
        let mut batched = BTreeMap::new();
        for (activity_type, versions) in tools {
            let here = versions.iter().filter(|tool| runs_on(tool, task_queue));
            let here = ToolVersions::new(here.filter_map(|tool| self.tool_activity(tool, &conversations, &beater)));
            if !here.is_empty() {
                let versions = Arc::new(here);
                if let Some(name) = activity_type.strip_prefix(TOOL_PREFIX) {
                    batched.insert(name.to_owned(), Arc::clone(&versions));
                }
                let body: Body = Arc::new(move |ctx, request| {
                    let versions = Arc::clone(&versions);
                    async move { versions.run(&ctx, &request).await.map(Reply::Tool) }.boxed()
                });
                activities.push((activity_type, body));
            }
        }
        if !batched.is_empty() {
            activities.push(batches_of(batched, &beater));
        }
        for (name, store) in self.resources.sessions.iter() {
            let store = Arc::clone(store);
            let body = of_values(move |ctx, request| {
                let store = Arc::clone(&store);
                async move { json(&session::run(store, ctx, request).await?) }.boxed()
            });
            activities.push((format!("{SESSION_ACTIVITY}.{name}"), body));
        }
        activities.extend(self.loading_agents());
        activities.extend(crate::remote::find_activity(&self.resources.toolsets));
        activities.extend(crate::activity::kept_decisions::kept_decisions(&self.resources.decisions));
        let (transports, metrics) = (&self.resources.transports, self.metrics.as_ref());
        activities.extend(crate::remote::activities(transports, &conversations, &beater, &self.deltas, metrics));
        #[cfg(feature = "mcp")]
        activities.extend(crate::mcp::activities(&self.resources.mcp, &conversations, &beater, metrics));
        #[cfg(feature = "nexus")]
        activities.push(looking_up_endpoints());
        activities.extend(state_activities());
        let around = |(name, body): (String, Body)| {
            #[cfg(feature = "otel")]
            let body = match &self.tracing {
                Some(tracing) => tracing.around(&name, body),
                None => body,
            };
            (name, in_span(self.introduces_client(body)))
        };
        Ok(NamedActivities(activities.into_iter().map(around).collect()))
    }

    /// Returns the body of an activity that tells the watch of its worker the client.
    fn introduces_client(&self, body: Body) -> Body {
        let watch = self.watch.clone();
        Arc::new(move |ctx, request| {
            watch.offer_client(|| ctx.client());
            body(ctx, request)
        })
    }

    fn tool_activity(
        &self,
        tool: &ToolDef,
        conversations: &ConversationCache,
        beater: &HeartbeatSender,
    ) -> Option<ToolActivity> {
        let ToolBinding::Activity { body, options: _ } = tool.binding() else { return None };
        Some(ToolActivity {
            tool: tool.clone(),
            body: Arc::clone(body),
            states: self.resources.states.clone(),
            conversations: conversations.clone(),
            spills: self.resources.spills.clone(),
            env: self.resources.providers.env.to([Destination::tool(tool.name())]),
            beater: beater.clone(),
            deltas: self.deltas.clone(),
            metrics: self.metrics.clone(),
        })
    }
}

fn json<T: Serialize>(reply: &T) -> Result<Value, ActivityError> {
    serde_json::to_value(reply)
        .map_err(|error| ActivityError::Application(Box::new(ApplicationFailure::non_retryable(error))))
}

#[cfg(feature = "plugin")]
impl temporalio_sdk::plugins::WorkerPlugin for AgentsPlugin {
    fn name(&self) -> &'static str {
        "temporal-agents"
    }

    fn configure_worker_options(
        &self,
        options: &mut WorkerOptions,
    ) -> Result<(), temporalio_client::plugins::PluginError> {
        self.install(options).map_err(temporalio_client::plugins::PluginError::new)
    }
}

impl std::fmt::Debug for AgentsPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |agents: &[AgentDef]| agents.iter().map(|agent| agent.name.clone()).collect::<Vec<_>>();
        f.debug_struct("AgentsPlugin")
            .field("resources", &self.resources)
            .field("agents", &names(&self.agents))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
