//! The environment of one agent loop: its host, its agents, its configuration, and its place among
//! nested runs.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{
    config::RunConfig,
    guard,
    host::{EffectId, Host},
    kept::Kept,
    mcp::McpLists,
    mcp_session::McpSessions,
    session::SessionRef,
    toolsets,
};
use crate::{
    agent::{AgentDef, Graph, HookContext, HookResult, RunHooks},
    engine::{Engine, Once, RunError, StateMismatch, unknown_agent},
    gate::Gate,
    tool::{RunContext, ToolDef, idempotency_key},
    wire::{ToolsetSnapshot, event::FailedCallNote},
};

/// The environment of one agent loop.
pub(super) struct Env<'r, H: Host> {
    pub(super) host: &'r H,
    pub(super) graph: &'r Graph,
    pub(super) config: &'r RunConfig,
    /// Scope of all effects of this run; cancelled with the run that contains it.
    pub(super) scope: H::Scope,
    /// Scope of the input guardrails that run beside the first turn.
    pub(super) guard_scope: H::Scope,
    /// Prefix of the ids of this run's effects: empty for the outermost run, otherwise the id of
    /// the call that this run answers and a dash.
    pub(super) path: String,
    /// Id of the call that this run answers: its idempotency key; `None` for the outermost run.
    pub(super) parent_call: Option<String>,
    /// Id of the session of the outermost run.
    pub(super) session_id: Option<String>,
    /// The items of earlier model calls, to find duplicates without a comparison of the whole
    /// conversation.
    pub(super) once: RefCell<Once>,
    /// Tool lists of MCP servers, shared with the runs that contain this run and with its nested
    /// runs.
    pub(super) mcp: Rc<McpLists>,
    /// Sessions of this run with stateful MCP servers.
    pub(super) mcp_sessions: McpSessions,
    /// Ids of the calls of the current turn whose outputs an effect of the host shows.
    pub(super) shown: RefCell<BTreeSet<String>>,
    /// The calls of the current turn that have failed and that no effect of the host shows, with
    /// their indexes.
    pub(super) failed_calls: RefCell<Vec<(usize, FailedCallNote)>>,
    /// The decisions that are kept for the user, shared like the lists of MCP servers.
    pub(super) kept: Rc<Kept>,
    /// The tools that were selected for the run: those of the outermost run alone.
    pub(super) selected: OnceCell<Rc<[ToolDef]>>,
    /// MCP tools of each agent of this run, by agent name.
    pub(super) mcp_tools: RefCell<BTreeMap<String, Rc<[ToolDef]>>>,
}

impl<'r, H: Host> Env<'r, H> {
    /// Creates the environment of a run in the scope `inside`; the ids of its effects begin with
    /// `path`.
    pub(super) fn new(host: &'r H, graph: &'r Graph, config: &'r RunConfig, inside: &H::Scope, path: String) -> Self {
        let scope = host.child(inside);
        let guard_scope = host.child(&scope);
        let (once, mcp, mcp_tools) = (RefCell::default(), Rc::default(), RefCell::default());
        let (mcp_sessions, shown, selected) = (McpSessions::default(), RefCell::default(), OnceCell::new());
        let (parent_call, kept, failed_calls) = (None, Rc::default(), RefCell::default());
        let session_id = match &config.session {
            Some(SessionRef::Stored { session_id, .. }) => Some(session_id.clone()),
            Some(SessionRef::Memory(_)) | None => config.session_id.clone(),
        };
        Self {
            host,
            graph,
            config,
            scope,
            guard_scope,
            path,
            parent_call,
            session_id,
            once,
            mcp,
            mcp_sessions,
            shown,
            failed_calls,
            kept,
            selected,
            mcp_tools,
        }
    }

    /// Creates the environment of a run nested in this one.
    pub(super) fn nested<'n>(
        &self,
        graph: &'n Graph,
        config: &'n RunConfig,
        inside: &H::Scope,
        path: String,
    ) -> Env<'n, H>
    where
        'r: 'n,
    {
        let mcp_sessions = self.mcp_sessions.of_nested();
        let (mcp, kept, session_id) = (Rc::clone(&self.mcp), Rc::clone(&self.kept), self.session_id.clone());
        Env { session_id, mcp, mcp_sessions, kept, ..Env::new(self.host, graph, config, inside, path) }
    }

    /// Takes over the tools that were selected for the run. Nested runs have none.
    pub(super) fn take_selected(&self, toolset: &ToolsetSnapshot) {
        if self.is_outermost() && !toolset.selected.is_empty() {
            self.selected.get_or_init(|| toolsets::tools_of(toolset));
        }
    }

    /// Returns the tools that were selected for the run.
    pub(super) fn selected(&self) -> Rc<[ToolDef]> {
        self.selected.get().cloned().unwrap_or_default()
    }

    /// Returns `true` if the run has content that nobody answers for.
    pub(super) fn is_untrusted(&self) -> bool {
        self.config.gate.as_ref().is_some_and(Gate::is_untrusted)
    }

    /// Returns `true` if this run is not nested in another.
    pub(super) fn is_outermost(&self) -> bool {
        self.path.is_empty()
    }

    /// Returns the agent of this name. Graph and state are checked before the run, so the agent
    /// exists.
    ///
    /// # Errors
    /// [`RunError::State`], because a panic would fail the workflow task again and again.
    pub(super) fn agent(&self, name: &str) -> Result<&'r AgentDef, RunError> {
        let missing = || StateMismatch { issues: vec![unknown_agent(name, self.graph)] };
        self.graph.agent(name).map(|agent| &**agent).ok_or_else(|| missing().into())
    }

    /// Returns the id of an effect of this run.
    pub(super) fn effect(&self, name: impl std::fmt::Display) -> EffectId {
        EffectId::new(&self.path, name)
    }

    /// Returns a key that identifies a call of this run permanently. It includes the model's
    /// response, because some servers number calls from 0 in each response.
    pub(super) fn idempotency_key(&self, scope: &str, agent: &str, turn: u32, response: &str, call_id: &str) -> String {
        let turn = turn.to_string();
        idempotency_key([scope, &*self.path, agent, &*turn, response, call_id])
    }

    /// Returns `true` if the run or this agent has hooks.
    ///
    /// # Errors
    /// The errors of [`agent`](Self::agent).
    pub(super) fn has_hooks(&self, agent: &str) -> Result<bool, RunError> {
        Ok(self.config.hooks.is_some() || self.agent(agent)?.hooks.is_some())
    }

    /// Calls the hooks of the run, then those of the agent.
    ///
    /// # Errors
    /// [`RunError::Function`] of the first hook that fails.
    pub(super) fn tell(
        &self,
        engine: &Engine,
        agent: &str,
        name: &str,
        tell: impl Fn(&dyn RunHooks, &HookContext<'_>) -> HookResult,
    ) -> Result<(), RunError> {
        let of_agent = self.agent(agent)?.hooks.as_deref();
        let mut hooks = self.config.hooks.as_deref().into_iter().chain(of_agent).peekable();
        if hooks.peek().is_none() {
            return Ok(());
        }
        let state = engine.state();
        let run = RunContext::new(state.context.clone());
        let is_replaying = self.host.is_replaying();
        let ctx = HookContext { is_replaying, ..HookContext::new(&run, &state.usage, state.turn) };
        for hook in hooks {
            let function = || format!("hook {name}");
            guard::call(function, agent, || tell(hook, &ctx))?.map_err(|source| RunError::Function {
                function: function(),
                agent: agent.to_owned(),
                source,
            })?;
        }
        Ok(())
    }
}
