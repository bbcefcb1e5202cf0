//! The service: its settings, and the router with all paths.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    middleware,
    routing::{get, post},
};
use serde_json::{Value, json};
use temporalio_client::Client;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer};

use super::{
    access::{AccessPolicy, Caller},
    agui_routes, chat_routes,
    door::{self, LocalCallers},
    error::ApiError,
    page, questions,
    runs::{self, RunStore},
};
use crate::{
    agent::{AgentDef, AgentSources, Graph},
    client::{AgentRuns, RunEvents},
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
    runs: AgentRuns,
    events: Option<RunEvents>,
    agents: BTreeMap<String, AgentDef>,
    access: Option<Arc<dyn AccessPolicy>>,
    run_store: RunStore,
}

/// The parts that all requests share. None of them is the state of a run.
pub(super) struct Shared {
    pub(super) agents: BTreeMap<String, AgentDef>,
    pub(super) access: Arc<dyn AccessPolicy>,
    pub(super) is_local: bool,
    pub(super) runs: AgentRuns,
    /// The events of workflows; `None` without a Temporal client.
    pub(super) events: Option<RunEvents>,
    pub(super) run_store: RunStore,
}

/// The shared parts, as handlers extract them.
pub(super) type Service = State<Arc<Shared>>;

impl AgentsService {
    /// Creates a service for the ready-made workflows of this task queue; sends nothing yet.
    pub fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        Self::of(AgentRuns::new(client, task_queue))
    }

    /// Creates a service for the runs that this starter starts, in one mode or in both; sends
    /// nothing yet.
    pub fn of(runs: AgentRuns) -> Self {
        let events = runs.workflows().map(|workflows| RunEvents::new(&workflows.client));
        Self { runs, events, agents: BTreeMap::new(), access: None, run_store: RunStore::default() }
    }

    /// Adds the agents that callers may start, by name. The workers of the task queue serve
    /// `AgentWorkflow` and `ChatWorkflow` with the same agents.
    #[must_use]
    pub fn agents(mut self, agents: impl AgentSources) -> Self {
        self.agents.extend(agents.agent_defs().into_iter().map(|agent| (agent.name.clone(), agent)));
        self
    }

    /// Sets the policy that decides who may do what.
    #[must_use]
    pub fn access(mut self, policy: impl AccessPolicy) -> Self {
        self.access = Some(Arc::new(policy));
        self
    }

    /// Also reads runs from a database that a [`Projector`](crate::projection::Projector) fills:
    /// `GET /runs`, `GET /runs/{id}` and its events then answer also for runs that the server has
    /// deleted.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    #[must_use]
    pub fn run_store(mut self, store: &crate::store::SqlStore) -> Self {
        self.run_store = RunStore::new(store);
        self
    }

    /// Returns the router, with the paths in the [module's table](crate::http). Bodies are JSON of
    /// at most 4 MiB. A refused request has a status and
    /// `{"error": {"code": .., "message": ..}}`; one that was not answered may be sent again, with
    /// the same ids.
    pub fn into_router(self) -> Router {
        let Self { runs, events, agents, access, run_store } = self;
        let shared = Arc::new(Shared {
            runs,
            events,
            is_local: access.is_none(),
            access: access.unwrap_or_else(|| Arc::new(LocalCallers)),
            agents,
            run_store,
        });
        Router::new()
            .route("/agents", get(agents_of))
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

async fn agents_of(State(shared): Service) -> Json<Value> {
    let agents: Vec<Value> = shared.agents.keys().map(|name| json!({"name": name})).collect();
    Json(json!({"agents": agents}))
}

impl std::fmt::Debug for AgentsService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agents: Vec<_> = self.agents.keys().collect();
        f.debug_struct("AgentsService").field("runs", &self.runs).field("agents", &agents).finish_non_exhaustive()
    }
}
