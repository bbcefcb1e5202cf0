//! The service: its settings, and the router with all paths.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::{HeaderName, HeaderValue, Method, StatusCode},
    middleware,
};
use serde_json::Value;
use temporal_agents_core::{
    agent::{AgentDef, AgentSources, Graph, SpecParts, permits_toolset},
    tool::{ToolBinding, ToolDef},
    wire::{
        approval::APPROVAL_WORKFLOW,
        ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW},
    },
};
use temporalio_client::Client;
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;
use tower::util::option_layer;
use tower_http::{
    cors::{AllowHeaders, CorsLayer},
    limit::RequestBodyLimitLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    timeout::TimeoutLayer,
};

use super::{
    access::{AccessPolicy, Caller},
    agents, agui_routes, chat_routes, connections,
    door::{self, LocalCallers},
    error::{self, ApiError},
    kept_decisions,
    openapi::Api,
    page,
    problems::Problems,
    questions::{self, QuestionWatch},
    runs::{self, RunStore},
    sse::StreamLimits,
};
use crate::{
    client::{AgentRuns, DeltaReader, Diagnosis, RunEvents},
    store::{
        AgentStore, DecisionStore, OptionalAgentStore, OptionalDecisionStore, OptionalQuestionStore, QuestionStore,
    },
};

/// Maximum bytes of a request's body.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// Time in which a request is answered; for a stream, in which it begins.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Time in which a connection must take the next event of a stream.
const SLOW_READER: Duration = Duration::from_secs(30);
/// Maximum number of histories that are read whole at the same time.
const MAX_TIMELINES: usize = 2;
/// Headers of answers that pages of other origins may read.
const EXPOSED: [HeaderName; 2] =
    [HeaderName::from_static("x-request-id"), HeaderName::from_static("x-vercel-ai-ui-message-stream")];

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
    definitions: Vec<AgentDef>,
    parts: Option<SpecParts>,
    toolsets: Vec<String>,
    keeps_chats: bool,
    store: OptionalAgentStore,
    decisions: OptionalDecisionStore,
    question_store: OptionalQuestionStore,
    /// Types of the workflows that are runs.
    workflow_types: Vec<String>,
    access: Option<Arc<dyn AccessPolicy>>,
    run_store: RunStore,
    origins: Vec<HeaderValue>,
    streams: StreamLimits,
}

/// The parts that all requests share. None of them is the state of a run.
pub(super) struct Shared {
    pub(super) agents: BTreeMap<String, AgentDef>,
    /// The agents with all their versions.
    definitions: Vec<AgentDef>,
    /// The parts that agents as data may use, if the service knows them.
    pub(super) parts: Option<SpecParts>,
    /// The toolsets and devices that callers may select: names, and prefixes that end in `*`.
    pub(super) toolsets: Vec<String>,
    /// `true` if the conversation of each chat is in a store.
    pub(super) keeps_chats: bool,
    /// The store of agents as data.
    pub(super) store: OptionalAgentStore,
    /// The store of decisions that hold beyond their run.
    pub(super) decisions: OptionalDecisionStore,
    /// The store of questions of agentic sessions.
    pub(super) question_store: OptionalQuestionStore,
    /// Types of the workflows that are runs.
    pub(super) workflow_types: Vec<String>,
    pub(super) access: Arc<dyn AccessPolicy>,
    pub(super) is_local: bool,
    pub(super) runs: AgentRuns,
    /// The events of workflows; `None` without a Temporal client.
    pub(super) events: Option<RunEvents>,
    pub(super) run_store: RunStore,
    pub(super) streams: StreamLimits,
    pub(super) questions: QuestionWatch,
    /// The histories that are read whole at the same time: for timelines and usage.
    pub(super) timelines: Semaphore,
    pub(super) problems: Problems,
    /// The description of the service.
    description: OnceLock<Value>,
}

/// The shared parts, as handlers extract them.
pub(super) type Service = State<Arc<Shared>>;

impl AgentsService {
    /// Creates a service for the ready-made workflows of this task queue; sends nothing yet.
    pub fn new(client: &Client, task_queue: impl Into<String>) -> Self {
        Self::with_runs(AgentRuns::new(client, task_queue))
    }

    /// Creates a service for the runs that this starter starts, in one mode or in both; sends
    /// nothing yet.
    pub fn with_runs(runs: AgentRuns) -> Self {
        Self {
            events: runs.workflows().map(|workflows| RunEvents::new(&workflows.client)),
            runs,
            agents: BTreeMap::new(),
            definitions: Vec::new(),
            parts: None,
            toolsets: Vec::new(),
            keeps_chats: false,
            store: OptionalAgentStore::default(),
            decisions: OptionalDecisionStore::default(),
            question_store: OptionalQuestionStore::default(),
            workflow_types: [AGENT_WORKFLOW, CHAT_WORKFLOW, APPROVAL_WORKFLOW].map(str::to_owned).into(),
            access: None,
            run_store: RunStore::default(),
            origins: Vec::new(),
            streams: StreamLimits { slow_reader: SLOW_READER, stopping: CancellationToken::new() },
        }
    }

    /// Adds the agents that callers may start, by name. The workers of the task queue serve
    /// `AgentWorkflow` and `ChatWorkflow` with the same agents. From an `AgentSet`, as
    /// `.agents(&set)`, the service also knows the parts of agents as data, checks specs against
    /// them before it stores them, lists the toolsets that callers may select, and begins chats again
    /// whose conversations the set [keeps](crate::workflow::AgentSet::keep_chats).
    #[must_use]
    pub fn agents(mut self, agents: impl AgentSources) -> Self {
        if let Some(parts) = agents.spec_parts() {
            self.parts.get_or_insert_default().extend(parts);
        }
        self.toolsets.extend(agents.open_toolsets());
        self.keeps_chats |= agents.keeps_chats();
        let agents = agents.agent_defs();
        self.definitions.extend(agents.iter().cloned());
        self.agents.extend(agents.into_iter().map(|agent| (agent.name.clone(), agent)));
        self
    }

    /// Sets the store of agents as data, which callers may start, list and edit; it is that of the
    /// workers. [`AccessPolicy::may_edit_spec`] decides who may edit: by default nobody.
    #[must_use]
    pub fn agent_store(mut self, store: impl AgentStore + 'static) -> Self {
        self.store = OptionalAgentStore(Some(Arc::new(store)));
        self
    }

    /// Sets the store of the decisions that hold beyond their run, which is that of the workers:
    /// each caller lists and forgets the own ones, those of the runs whose user has the
    /// [caller's name](Caller::name).
    #[must_use]
    pub fn decision_store(mut self, store: impl DecisionStore + 'static) -> Self {
        self.decisions = OptionalDecisionStore(Some(Arc::new(store)));
        self
    }

    /// Adds the store of questions of agentic sessions
    /// ([`StoreApprover`](crate::agentic_session::StoreApprover)): `GET /questions` has them, and `POST
    /// /runs/{id}/decisions` decides them, where `id` is that of the session's workflow. The access
    /// policy decides by this id.
    #[must_use]
    pub fn question_store(mut self, store: impl QuestionStore + 'static) -> Self {
        self.question_store = OptionalQuestionStore(Some(Arc::new(store)));
        self
    }

    /// Adds workflows of these types on the task queue, an author's own: their runs are listed, read,
    /// watched and cancelled as those of the ready-made workflows, and with `#[agent_handlers]` their
    /// questions are decided. The access policy decides by the id of the workflow.
    #[must_use]
    pub fn workflow_types<T: Into<String>>(mut self, types: impl IntoIterator<Item = T>) -> Self {
        self.workflow_types.extend(types.into_iter().map(Into::into));
        self
    }

    /// Sets the policy that decides who may do what.
    #[must_use]
    pub fn access(mut self, policy: impl AccessPolicy) -> Self {
        self.access = Some(Arc::new(policy));
        self
    }

    /// Also reads the deltas of workflows at this place outside of Temporal: that of the workers'
    /// transport, for example [`BrokerDeltas`](crate::worker::BrokerDeltas). See
    /// [`RunEvents::deltas`]. Runs in a process use `InProcessRuns::deltas` instead.
    #[must_use]
    pub fn deltas(mut self, reader: impl DeltaReader + 'static) -> Self {
        self.events = self.events.map(|events| events.deltas(reader));
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

    /// Lets pages of these origins call the service, for example `https://app.example.com`. Only a
    /// service with an [access policy](Self::access) does so: without one, every page that a
    /// browser of this machine shows could act on runs.
    ///
    /// # Panics
    /// If an origin is `*`, or is not the value of a header.
    #[must_use]
    pub fn allow_origins<O: AsRef<str>>(mut self, origins: impl IntoIterator<Item = O>) -> Self {
        for origin in origins {
            let origin = origin.as_ref();
            assert!(origin != "*", "name the origins that may call the service; \"*\" would allow all");
            self.origins.push(HeaderValue::from_str(origin).expect("an origin is the value of a header"));
        }
        self
    }

    /// Sets the time in which a connection must take the next event of a stream. After it the
    /// stream ends with an event `cut`, whose data have the cursor to come back with. Default: 30
    /// seconds.
    #[must_use]
    pub fn slow_reader_timeout(mut self, timeout: Duration) -> Self {
        self.streams.slow_reader = timeout;
        self
    }

    /// Answers requests until `stop` ends. Then it takes no new connection, ends all streams with
    /// an event `cut`, so that their readers come back to another replica, and gives open requests
    /// 10 seconds.
    ///
    /// A connection has 30 seconds for the headers of a request. Of connections without a request
    /// under way, the 256 latest stay open. Put a proxy in front of a service for the public: it ends
    /// TLS, and limits connections and requests by caller.
    ///
    /// # Errors
    /// None at present: a connection that cannot be accepted is logged.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let stopping = self.streams.stopping.clone();
        connections::serve(listener, self.into_router(), connections::Limits::default(), stop, stopping).await;
        Ok(())
    }

    /// Returns the router, with the paths in the [module's table](crate::http). Bodies are JSON of
    /// at most 4 MiB. A refused request has a status and
    /// `{"error": {"code": .., "message": ..}}`; one that was not answered may be sent again, with
    /// the same ids. A request is answered within a minute; streams have no such limit.
    pub fn into_router(self) -> Router {
        let Self {
            runs,
            events,
            agents,
            definitions,
            parts,
            toolsets,
            keeps_chats,
            store,
            decisions,
            question_store,
            workflow_types,
            access,
            run_store,
            origins,
            streams,
        } = self;
        let is_local = access.is_none();
        let cors = cors(origins, is_local);
        let diagnosis = runs.workflows().map(|workflows| Diagnosis::new(&workflows.client));
        let problems = Problems::new(diagnosis, agents.values().cloned());
        let shared = Arc::new(Shared {
            runs,
            events,
            is_local,
            access: access.unwrap_or_else(|| Arc::new(LocalCallers)),
            agents,
            definitions,
            parts,
            toolsets,
            keeps_chats,
            store,
            decisions,
            question_store,
            workflow_types,
            run_store,
            streams,
            questions: QuestionWatch::default(),
            timelines: Semaphore::new(MAX_TIMELINES),
            problems,
            description: OnceLock::new(),
        });
        let (routes, description) = api().finish();
        shared.description.get_or_init(|| description);
        routes
            .route_layer(middleware::from_fn_with_state(Arc::clone(&shared), door::check))
            .merge(page::routes())
            .layer(middleware::from_fn_with_state(Arc::clone(&shared), door::check_host))
            .layer(DefaultBodyLimit::disable())
            .layer(RequestBodyLimitLayer::new(MAX_BODY_BYTES))
            .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, REQUEST_TIMEOUT))
            .layer(middleware::map_response(error::in_json))
            .layer(option_layer(cors))
            .layer(PropagateRequestIdLayer::x_request_id())
            .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
            .with_state(shared)
    }
}

/// Returns the paths of the API.
fn api() -> Api {
    Api::new()
        .get("/openapi.json", ("describe", "Returns this description."), description)
        .get("/agents", ("list_agents", "Lists the agents that callers may start."), agents::list)
        .get("/agents/{name}", ("read_agent", "Returns a version of an agent as data."), agents::read)
        .put("/agents/{name}", ("put_agent", "Adds a version of an agent as data."), agents::put)
        .get("/agents/{name}/versions", ("list_versions", "Lists versions, newest first."), agents::versions)
        .get("/agents/{name}/picture.svg", ("draw_agent", "Draws an agent and those that it reaches."), agents::picture)
        .get("/runs", ("list_runs", "Lists runs, latest first, in pages."), runs::list)
        .post("/runs", ("start_run", "Starts a run or a chat."), runs::start)
        .get("/runs/{id}", ("read_run", "Returns a run with its result, or with the calls that wait."), runs::read)
        .get("/runs/{id}/events", ("follow_run", "Streams the events of a run until it ends."), runs::events)
        .get("/runs/{id}/timeline.svg", ("draw_run", "Draws the calls and waits of a run so far."), runs::timeline)
        .get("/runs/{id}/usage", ("read_usage", "Returns the tokens and the cost of a run so far."), runs::usage)
        .post("/runs/{id}/decisions", ("decide", "Approves or rejects a call that waits."), runs::decide)
        .post("/runs/{id}/outputs", ("supply_output", "Supplies the output of a call."), runs::supply_output)
        .post("/runs/{id}/messages", ("send_message", "Sends a message to a chat."), runs::send_message)
        .post("/runs/{id}/cancel", ("cancel_run", "Requests the cancellation of a run."), runs::cancel)
        .get("/questions", ("list_questions", "Lists the calls of all runs that wait for people."), questions::list)
        .get("/questions/events", ("follow_questions", "Streams that list when it changes."), questions::events)
        .get("/kept-decisions", ("list_kept", "Lists the caller's decisions for later runs."), kept_decisions::list)
        .delete("/kept-decisions/{id}", ("forget_kept", "Forgets one of these decisions."), kept_decisions::forget)
        .post("/agui/{agent}", ("run_agui", "Runs or resumes a thread of AG-UI."), agui_routes::run)
        .get("/agui/{agent}/{thread}", ("connect_agui", "Returns to a thread of AG-UI."), agui_routes::connect)
        .post("/chat/{agent}", ("send_chat", "Sends messages of the AI SDK."), chat_routes::send)
        .get("/chat/{agent}/{chat}/stream", ("resume_chat", "Returns to a stream of the AI SDK."), chat_routes::resume)
}

/// Returns the layer that answers pages of other origins; `None` if there are none, and for a
/// service without an access policy.
fn cors(origins: Vec<HeaderValue>, is_local: bool) -> Option<CorsLayer> {
    if origins.is_empty() {
        return None;
    }
    if is_local {
        tracing::warn!("no other origin may call a service without an access policy; allow_origins is ignored");
        return None;
    }
    let methods = [Method::GET, Method::POST, Method::PUT, Method::DELETE];
    let cors = CorsLayer::new().allow_origin(origins).allow_methods(methods);
    Some(cors.allow_headers(AllowHeaders::mirror_request()).expose_headers(EXPOSED))
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

    /// Returns the tools with this name that an agent may have, of all versions of the agents in the
    /// code and of the parts of agents as data.
    pub(super) fn tools(&self, agent: &str, tool: &str) -> Vec<ToolDef> {
        let agents = self.definitions.iter().filter_map(|start| start.find(agent));
        let of_agents = agents.flat_map(|agent| agent.tools);
        let of_parts = self.parts.iter().flat_map(|parts| parts.tool_defs().to_vec());
        of_agents.chain(of_parts).filter(|def| def.name() == tool).collect()
    }

    /// Returns the thread of a new chat with this id, if chats are kept in a store.
    ///
    /// # Errors
    /// 403 if the caller may not use the thread.
    pub(super) fn chat_thread(&self, caller: &Caller, id: &str) -> Result<Option<String>, ApiError> {
        if !self.keeps_chats {
            return Ok(None);
        }
        if self.access.may_use_thread(caller, id) {
            return Ok(Some(id.to_owned()));
        }
        Err(ApiError::forbidden("use the thread of this chat"))
    }

    /// Checks that callers may select these toolsets and devices.
    ///
    /// # Errors
    /// 403.
    pub(super) fn check_may_select(&self, toolsets: &[String]) -> Result<(), ApiError> {
        let is_closed = |name: &&String| !permits_toolset(&self.toolsets, name);
        match toolsets.iter().find(is_closed) {
            None => Ok(()),
            Some(name) => Err(ApiError::forbidden(&format!(
                "select toolset {name:?}; permit it with AgentSet::allow_toolsets, and pass that set to \
                 AgentsService::agents"
            ))),
        }
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

async fn description(State(shared): Service) -> Json<Value> {
    Json(shared.description.get().cloned().unwrap_or_default())
}

impl std::fmt::Debug for AgentsService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agents: Vec<_> = self.agents.keys().collect();
        f.debug_struct("AgentsService").field("runs", &self.runs).field("agents", &agents).finish_non_exhaustive()
    }
}
