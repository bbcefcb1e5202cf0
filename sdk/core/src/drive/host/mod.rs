//! The interface between the loop and a host: effects only.

mod effect;
mod effect_error;
mod event;

use std::sync::Arc;

use futures::{FutureExt, future::LocalBoxFuture};

pub use self::event::warn_of_attempt;
pub use self::{
    effect::{
        EffectId, KeptDecisionsEffect, McpEffect, SessionAction, SessionEffect, ToolAnswer, ToolEffect, ToolsetsEffect,
    },
    effect_error::{McpEffectError, ModelEffectError, SessionEffectError, SourceEffectError, ToolEffectError},
    event::LoopEvent,
};
use crate::{
    agent::{Graph, GraphIssue},
    drive::join::join_in_order,
    engine::RunError,
    tool::{DeltaTransport, ToolDef},
    wire::{
        Interruption, Item, McpTool, ModelCall, ModelResponse, RunState, SelectedToolset, event::RunNote,
        kept_decision::KeptDecision, mcp_call::McpSession,
    },
};

/// The error of a host at which a run cannot leave the current execution, so that the run continues
/// there.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the run cannot leave this execution now")]
pub struct Stays;

impl Stays {
    /// Returns `true` if a host returned this error.
    pub fn is_source_of(error: &RunError) -> bool {
        matches!(error, RunError::Continuation { source, .. } if source.is::<Self>())
    }
}

/// The effects of a run. Futures are `!Send`: in a workflow everything lives on one thread.
pub trait Host {
    /// A part of the run that can be cancelled separately.
    type Scope: Clone;

    /// Creates a scope inside the run's own; cancelled with the run.
    fn scope(&self) -> Self::Scope;

    /// Creates a scope inside another; cancelled with it.
    fn child(&self, scope: &Self::Scope) -> Self::Scope;

    /// Cancels the effects in this scope. They still resolve, and the loop awaits them.
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

    /// Returns `true` if the host can make several calls in one effect:
    /// [`call_tools`](Self::call_tools).
    fn batches_tools(&self) -> bool {
        false
    }

    /// Makes several tool calls of a response, each with the outcome that it would have on its own.
    /// All are activities with the same options. The outcomes are in the order of the calls. The
    /// default makes each call on its own.
    fn call_tools<'a>(
        &'a self,
        calls: Vec<ToolEffect<'a>>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Vec<Result<ToolAnswer, ToolEffectError>>> {
        let calls = calls.into_iter().map(|call| self.call_tool(call, scope)).collect();
        join_in_order(calls).boxed_local()
    }

    /// Requests the tools of an MCP server. The default, for a host that reaches no MCP servers,
    /// fails.
    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host has no access to MCP servers".into()))).boxed_local()
    }

    /// Opens a session with a stateful MCP server. The default, for a host that reaches no MCP
    /// servers, fails.
    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        let _ = (call, scope);
        std::future::ready(Err(McpEffectError::Failed("this host has no access to MCP servers".into()))).boxed_local()
    }

    /// Closes a session, also when the run is cancelled. Returns nothing, because the run does not
    /// use the result.
    fn close_mcp_session(&self, session: McpSession, id: EffectId) -> LocalBoxFuture<'_, ()> {
        let _ = (session, id);
        std::future::ready(()).boxed_local()
    }

    /// Finds the toolsets that are selected for the run. The default, for a host that has no source
    /// of them, fails.
    fn find_toolsets<'a>(
        &'a self,
        call: ToolsetsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<SelectedToolset>, SourceEffectError>> {
        let _ = (call, scope);
        let source = "this host has no source of toolsets".into();
        std::future::ready(Err(SourceEffectError::Failed(source))).boxed_local()
    }

    /// Reads or writes the decisions that are kept for a user. The default, for a host that has no
    /// store of them, fails.
    fn kept_decisions<'a>(
        &'a self,
        call: KeptDecisionsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<KeptDecision>, SourceEffectError>> {
        let _ = (call, scope);
        let source = "this host has no store of decisions".into();
        std::future::ready(Err(SourceEffectError::Failed(source))).boxed_local()
    }

    /// Reads or writes a session in a store. A write is not cancelled with its scope: the session
    /// receives the items of the run also when the run is cancelled. A host may limit the time of a
    /// write after the cancellation.
    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>>;

    /// Waits until a call that the run waits for is decided, and stores the decisions in the run's
    /// state. A host that cannot wait returns [`WaitOutcome::Undecided`] at once, and the run ends
    /// paused.
    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        let _ = (state, scope);
        std::future::ready(WaitOutcome::Undecided).boxed_local()
    }

    /// Returns the time, in milliseconds since the Unix epoch, if runs of this host wait for
    /// decisions, so that questions can expire. The same on replay.
    fn now_millis(&self) -> Option<u64> {
        None
    }

    /// Returns `true` if the run should continue in another execution, from this state. Called for
    /// the outermost run only, when none of its effects is in flight: between two turns, and before
    /// it waits for decisions. Must return `false` for a run that has made no progress in this
    /// execution; otherwise it would never make any.
    fn is_continuation_due(&self, state: &RunState) -> bool {
        let _ = state;
        false
    }

    /// Moves the run to the execution in which it continues, after
    /// [`is_continuation_due`](Self::is_continuation_due) has returned `true`. Returns the error
    /// that ends the run in this execution. A host that cannot leave now returns a
    /// [`RunError::Continuation`] whose source marks that the run stays. The run then continues
    /// here, and until its next turn the host does not request a move again.
    fn continue_elsewhere<'a>(&'a self, state: &'a RunState, scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        let _ = scope;
        let source = "this host cannot continue a run in another execution".into();
        let error = RunError::Continuation { agent: state.agent.clone(), turn: state.turn, source };
        std::future::ready(error).boxed_local()
    }

    /// Returns `true` if this run follows the rule that `slug` names: `true` for new runs, `false`
    /// for histories recorded before the rule existed.
    fn patched(&self, slug: &str) -> bool {
        let _ = slug;
        true
    }

    /// Returns `true` if the run repeats what it did before. Nothing but what observers see may
    /// depend on it.
    fn is_replaying(&self) -> bool {
        false
    }

    /// Returns an issue for each requirement of the agents of a run that this host does not meet.
    /// Called before the run begins; the result must not change with time.
    fn lacks(&self, graph: &Graph) -> Vec<GraphIssue> {
        let _ = graph;
        Vec::new()
    }

    /// Returns an id that is unique to this run and does not change when the run continues in
    /// another execution. It is a part of the idempotency keys of the run's calls.
    fn idempotency_scope(&self) -> String {
        String::new()
    }

    /// Receives the state before each step, also of nested runs. `path` is the prefix of the ids of
    /// that run's effects: empty for the outermost run.
    fn checkpoint(&self, path: &str, state: &RunState) {
        let _ = (path, state);
    }

    /// Records what none of the run's effects tells. `path` is that of
    /// [`checkpoint`](Self::checkpoint); `interruptions` are those of a note that the run pauses.
    /// Must not change the run.
    fn note(&self, path: &str, note: RunNote, interruptions: &[Interruption]) {
        let _ = (path, note, interruptions);
    }

    /// Returns the transport of what this tool sends while it works, in the run at this path;
    /// `None` if there is none.
    fn tool_deltas(&self, path: &str, tool: &ToolDef) -> Option<Arc<dyn DeltaTransport>> {
        let _ = (path, tool);
        None
    }

    /// Receives the events of the run. Must not change the run.
    fn observe(&self, event: &LoopEvent<'_>) {
        let _ = event;
    }
}

/// The result of a wait for decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitOutcome {
    /// At least one call is decided, and the state holds the decision: the run continues.
    Decided,
    /// No call is decided: the run ends paused.
    Undecided,
    /// The run was cancelled during the wait.
    Cancelled,
    /// No call is decided, and the run may continue to wait in another execution: the loop asks
    /// [`Host::is_continuation_due`]. If it stays, the next wait does not end with this again.
    ContinuesElsewhere,
}
