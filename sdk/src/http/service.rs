//! The service: its settings, and the router with all paths.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{DefaultBodyLimit, State},
    middleware,
    routing::{get, post},
};
use temporalio_client::Client;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};

use super::{
    access::{AccessPolicy, Caller},
    agents, agui_routes, chat_routes,
    door::{self, LocalCallers},
    error::ApiError,
    page, questions, runs,
};
use crate::{
    agent::{AgentDef, AgentSources, Graph, SpecParts},
    client::{AgentRuns, RunEvents},
    store::{AgentStore, OptionalAgentStore},
    tool::ToolBinding,
};

/// Maximum bytes of a request's body.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Runs of agents over HTTP, as a router to mount in any axum service.
///
/// Without an [access policy](Self::access) the service answers only requests whose `Host` is a
/// name of this machine (`localhost`, `127.0.0.1`, `[::1]`): bind it to a loopback address. This
/// also refuses pages of other sites that resolve their name to this machine.
#[derive(Clone)]
pub struct AgentsService {
    client: Client,
    task_queue: String,
    agents: BTreeMap<String, AgentDef>,
    parts: Option<SpecParts>,
    store: OptionalAgentStore,
    access: Option<Arc<dyn AccessPolicy>>,
}

/// The parts that all requests share. None of them is the state of a run.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) task_queue: String,
    pub(super) agents: BTreeMap<String, AgentDef>,
    /// The parts that agents as data may use, if the service knows them.
    pub(super) parts: Option<SpecParts>,
    /// The store of agents as data.
    pub(super) store: OptionalAgentStore,
    pub(super) access: Arc<dyn AccessPolicy>,
    pub(super) is_local: bool,
    pub(super) runs: AgentRuns,
    pub(super) events: RunEvents,
}

/// The shared parts, as handlers extract them.
pub(super) type Service = State<Arc<Shared>>;

impl AgentsService {
    /// Creates a service for the ready-made workflows of this task queue; sends nothing yet.
    pub fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        Self {
            client: client.clone(),
            task_queue: task_queue.into(),
            agents: BTreeMap::new(),
            parts: None,
            store: OptionalAgentStore::default(),
            access: None,
        }
    }

    /// Adds the agents that callers may start, by name. The workers of the task queue serve
    /// `AgentWorkflow` and `ChatWorkflow` with the same agents. From an `AgentSet`, as
    /// `.agents(&set)`, the service also knows the parts of agents as data, and checks specs
    /// against them before it stores them.
    #[must_use]
    pub fn agents(mut self, agents: impl AgentSources) -> Self {
        if let Some(parts) = agents.spec_parts() {
            self.parts.get_or_insert_default().extend(parts);
        }
        self.agents.extend(agents.agent_defs().into_iter().map(|agent| (agent.name.clone(), agent)));
        self
    }

    /// Sets the store of agents as data, which callers may start, list and edit; it is that of the
    /// workers. [`AccessPolicy::may_edit_spec`] decides who may edit: by default nobody.
    #[must_use]
    pub fn agent_store(mut self, store: impl AgentStore + 'static) -> Self {
        self.store = OptionalAgentStore(Some(Arc::new(store)));
        self
    }

    /// Sets the policy that decides who may do what.
    #[must_use]
    pub fn access(mut self, policy: impl AccessPolicy) -> Self {
        self.access = Some(Arc::new(policy));
        self
    }

    /// Returns the router, with the paths in the [module's table](crate::http). Bodies are JSON of
    /// at most 4 MiB. A refused request has a status and
    /// `{"error": {"code": .., "message": ..}}`; one that was not answered may be sent again, with
    /// the same ids.
    pub fn into_router(self) -> Router {
        let Self { client, task_queue, agents, parts, store, access } = self;
        let shared = Arc::new(Shared {
            runs: AgentRuns::new(&client, &*task_queue),
            events: RunEvents::new(&client),
            is_local: access.is_none(),
            access: access.unwrap_or_else(|| Arc::new(LocalCallers)),
            client,
            task_queue,
            agents,
            parts,
            store,
        });
        Router::new()
            .route("/agents", get(agents::list))
            .route("/agents/{name}", get(agents::read).put(agents::put))
            .route("/agents/{name}/versions", get(agents::versions))
            .route("/runs", get(runs::list).post(runs::start))
            .route("/runs/{id}", get(runs::read))
            .route("/runs/{id}/events", get(runs::events))
            .route("/runs/{id}/decisions", post(runs::decide))
            .route("/runs/{id}/outputs", post(runs::supply_output))
            .route("/runs/{id}/messages", post(runs::send_message))
            .route("/runs/{id}/cancel", post(runs::cancel))
            .route("/questions", get(questions::list))
            .route("/questions/events", get(questions::events))
            .route("/agui/{agent}", post(agui_routes::run))
            .route("/agui/{agent}/{thread}", get(agui_routes::connect))
            .route("/chat/{agent}", post(chat_routes::send))
            .route("/chat/{agent}/{chat}/stream", get(chat_routes::resume))
            .route_layer(middleware::from_fn_with_state(Arc::clone(&shared), door::check))
            .merge(page::routes())
            .layer(middleware::from_fn_with_state(Arc::clone(&shared), door::check_host))
            .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
            .layer(PropagateRequestIdLayer::x_request_id())
            .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
            .with_state(shared)
    }
}

impl Shared {
    /// Checks that there is such an agent, and that the caller may start it.
    ///
    /// # Errors
    /// 404 or 403.
    pub(super) fn startable(&self, caller: &Caller, agent: &str) -> Result<&AgentDef, ApiError> {
        let def = self.agents.get(agent).ok_or_else(|| ApiError::no_agent(agent))?;
        if self.access.may_start(caller, agent) { Ok(def) } else { Err(ApiError::forbidden("start this agent")) }
    }

    /// Checks that the caller may act on a run that it sees.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check_may_decide(&self, caller: &Caller, id: &str) -> Result<(), ApiError> {
        if self.access.may_decide(caller, id) { Ok(()) } else { Err(ApiError::forbidden("act on this run")) }
    }
}

/// Returns the names of the tools that a client runs, of all agents that a run can reach.
pub(super) fn client_tools(agent: &AgentDef) -> Vec<String> {
    let graph = Graph::new(agent);
    let tools = graph.agents().flat_map(|agent| &agent.tools);
    tools.filter(|tool| matches!(tool.binding(), ToolBinding::Client)).map(|tool| tool.name().to_owned()).collect()
}

impl std::fmt::Debug for AgentsService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agents: Vec<_> = self.agents.keys().collect();
        f.debug_struct("AgentsService")
            .field("task_queue", &self.task_queue)
            .field("agents", &agents)
            .finish_non_exhaustive()
    }
}
