//! Servers that keep a state for each connection: the terms of a run's session with one.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::wire::McpSetUp;

/// The terms of a run's session with a stateful server.
///
/// Each run has a session of its own: a connection that one worker process holds, from the first time the tools are listed until the run
/// ends. Its calls run one after another, on that worker. An agent used as a tool is a run of its own here, too.
///
/// ```
/// use serde_json::json;
/// use temporal_agents::{
///     Agent,
///     tool::{McpServer, McpSessionTerms, Reestablish},
///     worker_env,
/// };
///
/// let terms = McpSessionTerms::new()
///     .set_up("login", json!({"user": "clerk", "password": worker_env!("SHOP_PASSWORD")}))
///     .reestablish(Reestablish::ReplaySetUp);
/// let clerk: Agent = Agent::new("clerk").model("gpt-5").mcp_server(McpServer::named("shop").stateful(terms));
/// ```
///
/// The worker is a `temporal_agents::worker::AgentsWorker`; a plain `AgentsPlugin::install` refuses such a server.
#[derive(Clone, Debug, PartialEq)]
pub struct McpSessionTerms {
    pub(crate) set_up: Vec<McpSetUp>,
    pub(crate) reestablish: Reestablish,
    pub(crate) idle: Duration,
    pub(crate) start_within: Duration,
}

/// What becomes of a run whose session is lost: its worker has ended, or the connection broke.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reestablish {
    /// The call fails with the kind [`SessionLost`](crate::tool::ToolFailureKind::SessionLost), and the run ends with
    /// [`McpSessionLost`](crate::drive::McpSessionLost), unless [`OnToolError::by_kind`](crate::tool::OnToolError::by_kind) tells the model
    /// something; the next call is then made in a new session.
    #[default]
    Never,
    /// A new session is opened, on any worker, with the set-up made anew, and the call is made there: for servers whose state is no more than the
    /// set-up makes it. A call that has begun, and that must not be made twice, is not; the model is told that its outcome is not known.
    ReplaySetUp,
}

impl Default for McpSessionTerms {
    fn default() -> Self {
        Self {
            set_up: Vec::new(),
            reestablish: Reestablish::Never,
            idle: Duration::from_hours(1),
            start_within: Duration::from_secs(15),
        }
    }
}

impl McpSessionTerms {
    /// No set-up, and no other session in place of one that is lost.
    pub fn new() -> Self {
        Self::default()
    }

    /// A call that is made whenever a session is opened, after those before. A result that is an error is one of the opening.
    ///
    /// Arguments are the members of a JSON object, and in history; [`worker_env!`](crate::worker_env) references in them are filled in on the
    /// worker.
    #[must_use]
    pub fn set_up(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(members) => members,
            Value::Null => Map::new(),
            // No server takes it, and says so.
            other => Map::from_iter([("arguments".to_owned(), other)]),
        };
        self.set_up.push(McpSetUp { tool: tool.into(), arguments });
        self
    }

    /// What becomes of a run whose session is lost. Default: it ends.
    #[must_use]
    pub fn reestablish(mut self, reestablish: Reestablish) -> Self {
        self.reestablish = reestablish;
        self
    }

    /// How long the worker keeps a session that nobody uses: the run waits for a model or a person, or is gone. A session that was closed so is
    /// lost. Default 1 hour.
    #[must_use]
    pub fn idle_timeout(mut self, idle: Duration) -> Self {
        self.idle = idle;
        self
    }

    /// How long a call waits for the session's worker to take it, before that worker counts as gone. Default 15 s.
    #[must_use]
    pub fn start_within(mut self, limit: Duration) -> Self {
        self.start_within = limit;
        self
    }
}
