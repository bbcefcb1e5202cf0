//! What a host does for the loop: effects, and nothing else.

mod effect;
mod effect_error;
mod event;

use futures::{FutureExt, future::LocalBoxFuture};

pub use self::{
    effect::{EffectId, McpEffect, SessionAction, SessionEffect, ToolAnswer, ToolEffect},
    effect_error::{McpEffectError, ModelEffectError, SessionEffectError, ToolEffectError},
    event::RunEvent,
};
use crate::{
    agent::{Graph, GraphIssue},
    engine::RunError,
    wire::{Item, McpSession, McpTool, ModelCall, ModelResponse, RunState},
};

/// Why a run that was to move goes on where it is: this cannot be left now.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it cannot be left now")]
pub(crate) struct Stays;

impl Stays {
    /// Whether a host has said so.
    pub(crate) fn is_said_by(error: &RunError) -> bool {
        matches!(error, RunError::Continuation { source, .. } if source.is::<Self>())
    }
}

/// The effects of a run. Futures are `!Send`: in a workflow everything lives on one thread.
pub trait Host {
    /// A part of the run that can be cancelled by itself.
    type Scope: Clone;

    /// A new scope inside the run's own: cancelled when the run is.
    fn scope(&self) -> Self::Scope;

    /// A new scope inside another: cancelled when that one is.
    fn child(&self, scope: &Self::Scope) -> Self::Scope;

    /// Cancels what runs in this scope. The effects still resolve, and the loop awaits them.
    fn cancel(&self, scope: &Self::Scope);

    /// Calls the model.
    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>>;

    /// Calls a tool that does not run in the loop itself.
    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>>;

    /// Asks an MCP server for its tools. A host that reaches none says so.
    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host reaches no MCP servers".into()))).boxed_local()
    }

    /// Opens a session with a stateful MCP server. A host that reaches none says so.
    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host reaches no MCP servers".into()))).boxed_local()
    }

    /// Closes a session, also when the run is cancelled. Whether it could be closed is of no use to the run.
    fn close_mcp_session(&self, session: McpSession, id: EffectId) -> LocalBoxFuture<'_, ()> {
        let _ = (session, id);
        std::future::ready(()).boxed_local()
    }

    /// Reads or writes a session in a store. A write is not cancelled with its scope: what was said and done is told to the
    /// session also when the run is cancelled. A host may limit the time that it still takes then.
    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>>;

    /// Waits until somebody has decided on a call the run waits for, and takes what was decided into its state. A host that
    /// cannot wait says so at once, and the run ends paused.
    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        let _ = (state, scope);
        std::future::ready(WaitOutcome::Undecided).boxed_local()
    }

    /// Whether the run is to go on elsewhere, from this state. Asked of the outermost run alone, where nothing of it is in flight:
    /// between two turns, and before it waits for decisions. A run that has done nothing here yet must not, or it would never.
    fn is_to_move(&self, state: &RunState) -> bool {
        let _ = state;
        false
    }

    /// Takes the run to where it goes on, once [`is_to_move`](Self::is_to_move) has said so; gives what the run here ends with. It does
    /// not end, but goes on here, with a [`RunError::Continuation`] whose source says that it stays; until the next turn the host then does
    /// not say again that it is to move.
    fn move_on<'a>(&'a self, state: &'a RunState, scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        let _ = scope;
        let source = "this host moves no runs".into();
        let error = RunError::Continuation { agent: state.agent.clone(), turn: state.turn, source };
        std::future::ready(error).boxed_local()
    }

    /// Whether this run follows the rule that `slug` names: true for new runs, false for histories recorded before it.
    fn patched(&self, slug: &str) -> bool {
        let _ = slug;
        true
    }

    /// Returns an issue for each thing that the agents of a run need and this host does not have. Called before the run begins; the
    /// answer must not change with time.
    fn lacks(&self, graph: &Graph) -> Vec<GraphIssue> {
        let _ = graph;
        Vec::new()
    }

    /// What tells this run from all others there are, and stays when it goes on elsewhere: a part of the idempotency keys of its calls.
    fn idempotency_scope(&self) -> String {
        String::new()
    }

    /// Sees the state before each step, of runs inside the run, too. The path is what the ids of that run's effects begin with: empty for
    /// the outermost.
    fn checkpoint(&self, path: &str, state: &RunState) {
        let _ = (path, state);
    }

    /// Hears what the run does; must not change it.
    fn observe(&self, event: &RunEvent<'_>) {
        let _ = event;
    }
}

/// What came of waiting for decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitOutcome {
    /// At least one call is decided, in the state: the run goes on.
    Decided,
    /// None is: the run ends paused.
    Undecided,
    /// The run was cancelled while it waited.
    Cancelled,
}
