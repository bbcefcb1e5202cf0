//! Servers of the Model Context Protocol (MCP) in the definition of an agent: the names of the
//! servers, and the rules for their tools.
//!
//! The definition has only names and rules: the connection to a server is configured on the worker,
//! by `Resources::mcp_server` under the same name.

mod called;
mod listed;
mod session;

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde_json::{Map, Value};

pub use listed::McpBinding;
pub use session::{McpSessionOptions, McpSessionRecovery};

use super::{
    ToolDef,
    approval::NeedsApproval,
    context::CallInfo,
    guardrail::{ToolInputGuardrail, ToolOutputGuardrail},
    on_error::OnToolError,
    options::ToolActivityOptions,
    run_context::RunContext,
};
use crate::{agent::AgentDef, wire::McpTool};

/// A server of the Model Context Protocol whose tools an agent has.
///
/// An activity lists the tools at the agent's first turn, and the list is recorded in history: a
/// run uses one list, regardless of later changes at the server, and a replay sends no request to a
/// server. Each call is also an activity.
///
/// ```
/// # extern crate temporal_agents_core as temporal_agents;
/// use temporal_agents::{Agent, tool::McpServer};
///
/// let files = McpServer::named("files")
///     .only(["read_file", "delete_file"])
///     .needs_approval_for(["delete_file"]);
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
    session: Option<McpSessionOptions>,
    asks_people: bool,
    structured_content: bool,
    meta: Option<McpMeta>,
    input_guardrails: Vec<ToolInputGuardrail>,
    output_guardrails: Vec<ToolOutputGuardrail>,
    on_error: OnToolError,
}

/// A function of run context, agent name and tool that returns `true` if the tool is offered.
pub type McpToolFilter = Arc<dyn Fn(&RunContext, &str, &McpTool) -> bool + Send + Sync>;

/// A function of run context and call that returns the `_meta` object that the server gets.
pub(crate) type McpMeta = Arc<dyn Fn(&RunContext, &CallInfo) -> Map<String, Value> + Send + Sync>;

/// The times at which a server's tools are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum McpRefresh {
    /// Once in a run.
    #[default]
    OncePerRun,
    /// At every turn of the agent. A list replaces the one before; between turns, and while the
    /// run moves to another execution, it stays as it is.
    EachTurn,
}

/// The rule that decides which tools wait for a decision.
#[derive(Clone)]
enum Approval {
    All(NeedsApproval),
    Of(BTreeSet<String>),
}

impl McpServer {
    /// Creates a server that the worker registers under this name. The name is part of activity
    /// types, as in `agents.mcp.files.call_tool`.
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

    /// Sets the prefix of each tool's name for the model: two servers with tools of the same name
    /// need different prefixes.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Offers only these tools, by their names at the server.
    #[must_use]
    pub fn only(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.only.get_or_insert_default().extend(tools.into_iter().map(Into::into));
        self
    }

    /// Excludes these tools, by their names at the server.
    #[must_use]
    pub fn without(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Offers a tool only while this function of run context, agent name and tool returns `true`;
    /// called at every turn.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&RunContext, &str, &McpTool) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Makes every call wait for a decision before it is made.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.approval = Approval::All(NeedsApproval::Always);
        self
    }

    /// Makes calls of these tools, by their names at the server, wait for a decision. If
    /// [all](Self::needs_approval) calls already wait, they still do; a
    /// [function](Self::needs_approval_when) set before is replaced.
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

    /// Makes a call wait for a decision if this function of run context, arguments and call id
    /// returns `true`.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    #[must_use]
    pub fn needs_approval_when(
        mut self,
        predicate: impl Fn(&RunContext, &Map<String, Value>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.approval = Approval::All(NeedsApproval::When(Arc::new(predicate)));
        self
    }

    /// Sets the times at which the server's tools are listed. Default: once in a run.
    #[must_use]
    pub fn refresh(mut self, refresh: McpRefresh) -> Self {
        self.refresh = refresh;
        self
    }

    /// Sets timeouts, attempts and task queue of all activities except calls. Default: those of any
    /// tool, with 5 attempts.
    #[must_use]
    pub fn list_options(mut self, options: ToolActivityOptions) -> Self {
        self.list_options = ToolActivityOptions { local: false, ..options };
        self
    }

    /// Sets timeouts, attempts and task queue of calls. A tool that the server marks as
    /// destructive, or not idempotent, has one attempt regardless of these options, and no call is
    /// a local activity.
    #[must_use]
    pub fn call_options(mut self, options: ToolActivityOptions) -> Self {
        self.call_options = ToolActivityOptions { local: false, ..options };
        self
    }

    /// Sets the argument from which the worker creates the connection, if its transport is a
    /// factory: for example a tenant or a region. It is recorded in history with every request, so
    /// it must not hold a secret. It may hold a `worker_env!` reference to a
    /// secret; the factory gets the value.
    #[must_use]
    pub fn argument(mut self, argument: Value) -> Self {
        self.argument = Some(argument);
        self
    }

    /// Declares that the server keeps a state for each connection, so that each run has a session
    /// with it, with these options.
    #[must_use]
    pub fn stateful(mut self, options: McpSessionOptions) -> Self {
        self.session = Some(options);
        self
    }

    /// Allows the server to request values from people during a call (elicitation): the run then
    /// waits for their answer, durably, as an interruption of
    /// [kind `Input`](crate::wire::run_state::InterruptionKind::Input), and the call is made again,
    /// with the answers so far. The tool then repeats everything that it does before its question.
    /// Default: the client reports no support for elicitation, and declines the request.
    #[must_use]
    pub fn allow_elicitation(mut self) -> Self {
        self.asks_people = true;
        self
    }

    /// Sends the model the structured content of a result, as JSON, if there is any.
    ///
    /// Without it, the model receives structured content only of results that have nothing else:
    /// neither text nor other blocks.
    ///
    /// # Source
    /// `use_structured_content` of the OpenAI Agents SDK.
    #[must_use]
    pub fn use_structured_content(mut self) -> Self {
        self.structured_content = true;
        self
    }

    /// Sets the function that returns the `_meta` object of each call: for example trace ids, or a
    /// user's id. It is recorded in history.
    ///
    /// # Determinism
    /// The function runs in the workflow, and again on replay.
    #[must_use]
    pub fn meta(mut self, meta: impl Fn(&RunContext, &CallInfo) -> Map<String, Value> + Send + Sync + 'static) -> Self {
        self.meta = Some(Arc::new(meta));
        self
    }

    /// Adds a check that runs before each call.
    #[must_use]
    pub fn input_guardrail(mut self, guardrail: ToolInputGuardrail) -> Self {
        self.input_guardrails.push(guardrail);
        self
    }

    /// Adds a check of the output of each call.
    #[must_use]
    pub fn output_guardrail(mut self, guardrail: ToolOutputGuardrail) -> Self {
        self.output_guardrails.push(guardrail);
        self
    }

    /// Returns the activities of the guardrails of the server's tools.
    pub(crate) fn guardrail_activities(&self) -> impl Iterator<Item = &ToolDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().activity());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().activity()))
    }

    /// Returns the agents that are guardrails of the server's tools.
    pub(crate) fn guardrail_agents(&self) -> impl Iterator<Item = &AgentDef> {
        let inputs = self.input_guardrails.iter().filter_map(|guardrail| guardrail.check().agent());
        inputs.chain(self.output_guardrails.iter().filter_map(|guardrail| guardrail.check().agent()))
    }

    /// Sets the handling of failed calls.
    #[must_use]
    pub fn on_error(mut self, on_error: OnToolError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Returns the name under which the worker registers the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the times at which the server's tools are listed.
    pub fn refresh_rule(&self) -> McpRefresh {
        self.refresh
    }

    /// Returns the options of all activities except calls.
    pub fn listing(&self) -> &ToolActivityOptions {
        &self.list_options
    }

    /// Returns the options of calls, before the server's hints about a tool are applied.
    pub fn calling(&self) -> &ToolActivityOptions {
        &self.call_options
    }

    /// Returns the argument from which the worker creates the connection.
    pub fn factory_argument(&self) -> Option<&Value> {
        self.argument.as_ref()
    }

    /// Returns the options of a run's session with the server, if the server is stateful.
    pub fn session_options(&self) -> Option<&McpSessionOptions> {
        self.session.as_ref()
    }

    /// Returns `true` if the server may request values from people.
    pub fn allows_elicitation(&self) -> bool {
        self.asks_people
    }

    /// Returns the function for the `_meta` object of a call, if there is one.
    #[doc(hidden)]
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
