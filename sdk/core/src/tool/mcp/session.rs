//! Servers that keep a state for each connection: the options of a run's session with such a
//! server.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::wire::mcp_call::McpSetUp;

/// The options of a run's session with a stateful server.
///
/// Each run has a session of its own: a connection that one worker process holds, from the first
/// listing of the tools until the run ends. Its calls run one after another, on that worker. The
/// run of an agent that is used as a tool also has a session of its own.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use serde_json::json;
/// use temporal_agents::{
///     Agent,
///     tool::{McpServer, McpSessionOptions, McpSessionRecovery},
///     worker_env,
/// };
///
/// let options = McpSessionOptions::new()
///     .set_up("login", json!({"user": "clerk", "password": worker_env!("SHOP_PASSWORD")}))
///     .reestablish(McpSessionRecovery::ReplaySetup);
/// let clerk: Agent =
///     Agent::new("clerk").model("gpt-5").mcp_server(McpServer::named("shop").stateful(options));
/// ```
///
/// The worker is a `temporal_agents::worker::AgentsWorker`; a plain `AgentsPlugin::install` refuses
/// such a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSessionOptions {
    /// Calls that set up a new session.
    pub set_up: Vec<McpSetUp>,
    /// The handling of a lost session.
    pub reestablish: McpSessionRecovery,
    /// Time without a call after which the worker closes the session.
    pub idle: Duration,
    /// Maximum time until a worker begins the session.
    pub schedule_to_start_timeout: Duration,
}

/// The handling of a lost session: its worker has ended, or the connection broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpSessionRecovery {
    /// The call fails with the kind [`SessionLost`](crate::tool::ToolFailureKind::SessionLost), and
    /// the run ends with [`RunError::Tool`](crate::engine::RunError::Tool), unless
    /// [`OnToolError::by_kind`](crate::tool::OnToolError::by_kind) returns a message for the model;
    /// the next call is then made in a new session.
    #[default]
    Never,
    /// A new session is opened, on any worker, with the set-up repeated, and the call is made
    /// there: for servers whose set-up restores all of their state. A call that has started, and
    /// that must not be made twice, is not repeated; the model receives
    /// [`OUTCOME_UNKNOWN`](crate::tool::OUTCOME_UNKNOWN).
    ReplaySetup,
}

impl Default for McpSessionOptions {
    fn default() -> Self {
        Self {
            set_up: Vec::new(),
            reestablish: McpSessionRecovery::Never,
            idle: Duration::from_hours(1),
            schedule_to_start_timeout: Duration::from_secs(15),
        }
    }
}

impl McpSessionOptions {
    /// Creates options without a set-up and without a replacement for a lost session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call that is made whenever a session is opened, after the calls added before. If its
    /// result is an error, opening the session fails.
    ///
    /// The arguments are the members of a JSON object, and are in history;
    /// `worker_env!` references in them are filled in on the worker.
    #[must_use]
    pub fn set_up(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            // Arguments that are not an object are sent as one member, which the server refuses.
            other => Map::from_iter([("arguments".to_owned(), other)]),
        };
        self.set_up.push(McpSetUp { tool: tool.into(), arguments });
        self
    }

    /// Sets the handling of a lost session. Default: the run ends.
    #[must_use]
    pub fn reestablish(mut self, reestablish: McpSessionRecovery) -> Self {
        self.reestablish = reestablish;
        self
    }

    /// Sets the time after which the worker closes a session that is not used, because the run
    /// waits for a model or a person, or has ended. A session closed in this way is lost. Default
    /// 1 hour.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// Sets the time that a call waits for the session's worker to start it, before that worker
    /// counts as lost. Default 15 s.
    #[must_use]
    pub fn schedule_to_start_timeout(mut self, limit: Duration) -> Self {
        self.schedule_to_start_timeout = limit;
        self
    }
}
