//! What one loop works with: its host, its agents, its configuration, and its place among the runs inside each other.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use super::{
    config::RunConfig,
    guard,
    host::{EffectId, Host},
    mcp::McpLists,
    mcp_session::McpSessions,
};
use crate::{
    agent::{AgentDef, Graph, HookContext, HookResult, RunHooks},
    engine::{Engine, Once, RunError, StateMismatch, unknown_agent},
    tool::{RunContext, ToolDef, idempotency_key},
};

/// What one loop works with.
pub(super) struct Env<'r, H: Host> {
    pub(super) host: &'r H,
    pub(super) graph: &'r Graph,
    pub(super) config: &'r RunConfig,
    /// Everything of this run; cancelled with the run around it.
    pub(super) scope: H::Scope,
    /// The input guardrails beside the first turn.
    pub(super) guard_scope: H::Scope,
    /// What the ids of this run's effects begin with: empty, or the id of the call that this run answers and a dash.
    pub(super) path: String,
    /// What the model was given so far.
    pub(super) once: RefCell<Once>,
    /// What MCP servers have listed, to this run and to those around it and inside it.
    pub(super) mcp: Rc<McpLists>,
    /// Its sessions with stateful MCP servers.
    pub(super) mcp_sessions: McpSessions,
    /// The tools that agents of this run have of it.
    pub(super) mcp_tools: RefCell<BTreeMap<String, Rc<[ToolDef]>>>,
}

impl<'r, H: Host> Env<'r, H> {
    /// A run inside `scope`, whose effects' ids begin with `path`.
    pub(super) fn new(host: &'r H, graph: &'r Graph, config: &'r RunConfig, inside: &H::Scope, path: String) -> Self {
        let scope = host.child(inside);
        let guard_scope = host.child(&scope);
        let (once, mcp, mcp_tools) = (RefCell::default(), Rc::default(), RefCell::default());
        let mcp_sessions = McpSessions::default();
        Self { host, graph, config, scope, guard_scope, path, once, mcp, mcp_sessions, mcp_tools }
    }

    /// A run inside this one.
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
        Env { mcp: Rc::clone(&self.mcp), mcp_sessions, ..Env::new(self.host, graph, config, inside, path) }
    }

    /// Whether this run is inside no other.
    pub(super) fn is_outermost(&self) -> bool {
        self.path.is_empty()
    }

    /// The agent of this name. Graph and state are checked before the run, so it is there.
    ///
    /// # Errors
    /// [`RunError::State`], because a panic would fail the workflow task for ever.
    pub(super) fn agent(&self, name: &str) -> Result<&'r AgentDef, RunError> {
        let missing = || StateMismatch { issues: vec![unknown_agent(name, self.graph)] };
        self.graph.agent(name).map(|agent| &**agent).ok_or_else(|| missing().into())
    }

    /// The id of an effect of this run.
    pub(super) fn effect(&self, name: impl std::fmt::Display) -> EffectId {
        EffectId::new(&self.path, name)
    }

    /// What names a call of this run for good. The model's response is in it, because some servers number calls from 0 in each.
    pub(super) fn idempotency_key(&self, scope: &str, agent: &str, turn: u32, response: &str, call_id: &str) -> String {
        let turn = turn.to_string();
        idempotency_key([scope, &*self.path, agent, &*turn, response, call_id])
    }

    /// Whether the run, or this agent, has hooks.
    ///
    /// # Errors
    /// As of [`agent`](Self::agent).
    pub(super) fn has_hooks(&self, agent: &str) -> Result<bool, RunError> {
        Ok(self.config.hooks.is_some() || self.agent(agent)?.hooks.is_some())
    }

    /// Tells the hooks of the run, then those of the agent.
    ///
    /// # Errors
    /// [`RunError::Function`] with the first that fails.
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
        let ctx = HookContext::new(&run, &state.usage, state.turn);
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
