//! Servers of the Model Context Protocol (MCP) as authors name them: whose tools an agent has, and on which terms.
//!
//! Only names and rules: how a server is reached is said on the worker, by `AgentsPlugin::mcp_server` under the same name.

mod called;
mod listed;
mod session;

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde_json::{Map, Value};

pub use listed::McpBinding;
pub use session::{McpSessionTerms, Reestablish};

use super::{
    approval::NeedsApproval,
    context::CallInfo,
    guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
    on_error::OnToolError,
    options::ToolActivityOptions,
    run_context::RunContext,
};
use crate::wire::McpTool;

/// A server of the Model Context Protocol whose tools an agent has.
///
/// The tools are listed by an activity when the agent first has a turn, and the list is in history: a run knows one list, whatever the
/// server says later, and a replay asks no server. Each call is an activity, too.
///
/// ```
/// use temporal_agents::{Agent, tool::McpServer};
///
/// let files = McpServer::named("files").only(["read_file", "delete_file"]).needs_approval_for(["delete_file"]);
/// let clerk = Agent::new("clerk").model("gpt-5-mini").mcp_server(files);
/// # let _: Agent = clerk;
/// ```
#[derive(Clone)]
pub struct McpServer {
    name: String,
    prefix: String,
    only: Option<BTreeSet<String>>,
    without: BTreeSet<String>,
    filter: Option<McpToolFilter>,
    approval: Approval,
    refresh: McpRefresh,
    list_options: ToolActivityOptions,
    call_options: ToolActivityOptions,
    argument: Option<Value>,
    session: Option<McpSessionTerms>,
    asks_people: bool,
    structured_content: bool,
    meta: Option<McpMeta>,
    input_guardrails: Vec<ToolInputGuardrail>,
    output_guardrails: Vec<ToolOutputGuardrail>,
    on_error: OnToolError,
}

/// A function of run context, agent and tool that says whether the tool is offered.
pub type McpToolFilter = Arc<dyn Fn(&RunContext, &str, &McpTool) -> bool + Send + Sync>;

/// A function of run context and call that gives what the server gets as `_meta`.
pub type McpMeta = Arc<dyn Fn(&RunContext, &CallInfo) -> Map<String, Value> + Send + Sync>;

/// When a server is asked for its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpRefresh {
    /// Once in a run, and once more in each execution that a run goes on in.
    #[default]
    OncePerRun,
    /// At every turn of the agent.
    EachTurn,
}

/// Which tools wait for a decision.
#[derive(Clone)]
enum Approval {
    All(NeedsApproval),
    Of(BTreeSet<String>),
}

impl McpServer {
    /// The server that the worker knows by this name. It is part of activity types, as in `agents.mcp.files.call_tool`.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            prefix: String::new(),
            only: None,
            without: BTreeSet::new(),
            filter: None,
            approval: Approval::All(NeedsApproval::Never),
            refresh: McpRefresh::default(),
            list_options: ToolActivityOptions::builder().attempts(5).build(),
            call_options: ToolActivityOptions::default(),
            argument: None,
            session: None,
            asks_people: false,
            structured_content: false,
            meta: None,
            input_guardrails: Vec::new(),
            output_guardrails: Vec::new(),
            on_error: OnToolError::default(),
        }
    }

    /// What the model finds in front of each tool's name: two servers with tools of one name need different ones.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Offers these tools and no others, by their names at the server.
    #[must_use]
    pub fn only(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only.get_or_insert_default().extend(tools.into_iter().map(Into::into));
        self
    }

    /// Does not offer these tools.
    #[must_use]
    pub fn without(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Offers a tool while this holds for run context, agent and tool; asked at every turn.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&RunContext, &str, &McpTool) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Every call waits for a decision before it is made.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.approval = Approval::All(NeedsApproval::Always);
        self
    }

    /// Calls of these tools, by their names at the server, wait for a decision. Where [all](Self::needs_approval) do already, they go on to; a
    /// [function](Self::needs_approval_when) given before is not asked any more.
    #[must_use]
    pub fn needs_approval_for(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut named = match self.approval {
            Approval::All(NeedsApproval::Always) => return self,
            Approval::Of(named) => named,
            Approval::All(_) => BTreeSet::new(),
        };
        named.extend(tools.into_iter().map(Into::into));
        self.approval = Approval::Of(named);
        self
    }

    /// Calls for which this function of run context, arguments and call id says so wait for a decision.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn needs_approval_when(
        mut self,
        predicate: impl Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.approval = Approval::All(NeedsApproval::When(Arc::new(predicate)));
        self
    }

    /// When the server is asked for its tools. Default: once in a run.
    #[must_use]
    pub fn refresh(mut self, refresh: McpRefresh) -> Self {
        self.refresh = refresh;
        self
    }

    /// Timeouts, attempts and task queue of everything but calls. Default: as any tool's, with 5 attempts.
    #[must_use]
    pub fn list_options(mut self, options: ToolActivityOptions) -> Self {
        self.list_options = ToolActivityOptions { local: false, ..options };
        self
    }

    /// Timeouts, attempts and task queue of calls. A tool that the server calls destructive, or not idempotent, has one attempt
    /// whatever they say, and none is a local activity.
    #[must_use]
    pub fn call_options(mut self, options: ToolActivityOptions) -> Self {
        self.call_options = ToolActivityOptions { local: false, ..options };
        self
    }

    /// What the worker makes the connection from, where its transport is a factory: a tenant, a region. It is recorded in history with
    /// every request, so a secret has no place in it; a [`worker_env!`](crate::worker_env) reference to one has, and the factory gets the value.
    #[must_use]
    pub fn argument(mut self, argument: Value) -> Self {
        self.argument = Some(argument);
        self
    }

    /// The server keeps a state for each connection, and each run has a session with it on these terms.
    #[must_use]
    pub fn stateful(mut self, terms: McpSessionTerms) -> Self {
        self.session = Some(terms);
        self
    }

    /// The server may ask people something in the middle of a call (elicitation): the run then waits for their answer, durably, as an interruption of
    /// [kind `Input`](crate::wire::run_state::InterruptionKind::Input), and the call is made anew, with the answers so far. What a tool does
    /// before it asks, it does again then. Default: the server is told that nobody can be asked, and is declined.
    #[must_use]
    pub fn asks_people(mut self) -> Self {
        self.asks_people = true;
        self
    }

    /// The model gets the structured content of a result, as JSON, where there is any.
    ///
    /// # Source
    /// `use_structured_content` of the OpenAI Agents SDK.
    #[must_use]
    pub fn use_structured_content(mut self) -> Self {
        self.structured_content = true;
        self
    }

    /// What the server gets as `_meta` with each call: trace ids, a user's id. It is recorded in history.
    ///
    /// # Determinism
    /// The function runs in the workflow, again on replay.
    #[must_use]
    pub fn meta(mut self, meta: impl Fn(&RunContext, &CallInfo) -> Map<String, Value> + Send + Sync + 'static) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// A check before each call.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.input_guardrails.push(guardrail);
        self
    }

    /// A check of what each call returns.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.output_guardrails.push(guardrail);
        self
    }

    /// What a failed call comes to.
    #[must_use]
    pub fn on_error(mut self, on_error: OnToolError) -> Self {
        self.on_error = on_error;
        self
    }

    /// The name the worker knows the server by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When the server is asked for its tools.
    pub fn refresh_rule(&self) -> McpRefresh {
        self.refresh
    }

    /// How activities other than calls are run.
    pub fn listing(&self) -> &ToolActivityOptions {
        &self.list_options
    }

    /// How calls are run, before what the server says of a tool.
    pub fn calling(&self) -> &ToolActivityOptions {
        &self.call_options
    }

    /// What the worker makes the connection from.
    pub fn factory_argument(&self) -> Option<&Value> {
        self.argument.as_ref()
    }

    /// The terms of a run's session with it, where it is stateful.
    pub fn session_terms(&self) -> Option<&McpSessionTerms> {
        self.session.as_ref()
    }

    /// Whether the server may ask people.
    pub fn may_ask_people(&self) -> bool {
        self.asks_people
    }

    /// What gives a call its `_meta`.
    pub fn meta_rule(&self) -> Option<&McpMeta> {
        self.meta.as_ref()
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer")
            .field("name", &self.name)
            .field("prefix", &self.prefix)
            .field("only", &self.only)
            .field("without", &self.without)
            .field("refresh", &self.refresh)
            .field("call_options", &self.call_options)
            .field("argument", &self.argument)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
