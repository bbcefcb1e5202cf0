//! The host of a run in a session: the inline host, with a memory that outlives its process.
//!
//! Before a call of a model or a tool it waits until the server has all that the call builds on; what a call has answered is recorded, and
//! is not asked for again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    calls::Calls,
    decisions::decide,
    error::Ended,
    progress::{Begun, Point},
    results::SessionResults,
    session::Shared,
};
use crate::inline::{
    host::{InlineHost, Settled},
    states,
};
use crate::{
    agent::{Graph, GraphIssue},
    drive::{
        EffectId, Host, McpEffect, McpEffectError, MemorySession, ModelEffectError, RunEvent, SessionAction,
        SessionEffect, SessionEffectError, Stays, ToolAnswer, ToolEffect, ToolEffectError, WaitOutcome,
    },
    engine::RunError,
    tool::{StateRequirement, ToolBinding},
    wire::{
        EffectAnswer, Item, McpSession, McpTool, ModelCall, ModelResponse, RunState, ToolFailed, Usage,
        run_state::{Admission, Phase},
    },
};

/// One run of a session.
pub(super) struct SessionHost {
    pub(super) inner: InlineHost,
    pub(super) shared: Arc<Shared>,
    pub(super) ordinal: usize,
    pub(super) calls: Calls,
    /// The run's session, where it is one in memory.
    pub(super) memory: Option<MemorySession>,
    pub(super) compacts: bool,
    /// Whether the next state to be seen is the one that the run goes on from.
    pub(super) goes_on: AtomicBool,
    /// The turn before which the conversation was shortened last.
    pub(super) compacted_at: AtomicU32,
}

impl SessionHost {
    fn effect_answer(&self, id: &EffectId) -> Option<EffectAnswer> {
        self.shared.progress.answer(self.ordinal, id.as_str())
    }

    fn record(&self, id: &EffectId, answer: EffectAnswer, gathered: Vec<Value>, is_due: bool) {
        self.shared.progress.record(self.ordinal, id.as_str(), answer, gathered, is_due);
    }

    /// Whether each answer is written, not only the states between turns.
    fn writes_answers(&self) -> bool {
        self.shared.checkpoint_every == 1
    }

    /// Whether the run may go on from this state, and is to.
    fn is_point(&self, state: &RunState) -> bool {
        match state.phase {
            // The input guardrails beside the first turn have answered by the second; until all have, their answers are not in the state.
            Phase::TurnDue if state.turn > 0 && state.admission != Admission::Admitted => false,
            Phase::TurnDue => state.turn.is_multiple_of(self.shared.checkpoint_every),
            Phase::Interrupted { .. } | Phase::Finished { .. } => true,
            _ => false,
        }
    }

    /// The run goes on from here, if another attempt does.
    pub(super) fn reach(&self, state: &RunState) {
        let session_writes = self.inner.session_writes.load(Ordering::Relaxed);
        let memory = self.memory.as_ref().map(MemorySession::items);
        self.shared.progress.reach(self.ordinal, Point { state, session_writes, memory });
    }

    /// Waits until the server has what an effect builds on; false when the effect must not happen: its scope is cancelled, or the session ends.
    async fn is_settled(&self, scope: &CancellationToken) -> bool {
        matches!(scope.run_until_cancelled(self.shared.writer.settle()).await, Some(Ok(())))
    }

    async fn tool(&self, call: ToolEffect<'_>, scope: &CancellationToken) -> Result<ToolAnswer, ToolEffectError> {
        let id = call.id.clone();
        match self.effect_answer(&id) {
            None => {}
            Some(EffectAnswer::Tool { output, context_patch, question }) => {
                return Ok(ToolAnswer { output, context_patch, usage: Usage::default(), question });
            }
            Some(EffectAnswer::ToolFailed { how, message }) => return Err(failed(how, message)),
            Some(EffectAnswer::Begun) => {
                let source = "the worker was lost, or the call cancelled, after it had begun".into();
                return Err(ToolEffectError::OutcomeUnknown { source });
            }
            Some(EffectAnswer::Model { .. }) => {
                let source = format!("the checkpoint has a model's answer under the id {id} of a tool call").into();
                return Err(ToolEffectError::Host(source));
            }
        }
        let once = !is_idempotent(&call);
        if once {
            self.record(&id, EffectAnswer::Begun, Vec::new(), true);
        }
        if !self.is_settled(scope).await {
            self.shared.progress.forget(self.ordinal, id.as_str());
            return Err(ToolEffectError::Cancelled);
        }
        let key = call.info.idempotency_key().to_owned();
        let Settled { outcome: settled, is_late } = self.inner.tool_with_grace(call, scope).await;
        let gathered = self.calls.gathered(&key);
        if is_late || (settled.is_err() && scope.is_cancelled()) {
            // A body that has ended well all the same is not run again. One that ends with an error because it was told to stop has not failed:
            // another attempt runs it again, or is told that nobody knows what came of it.
            if let (Ok(_), Some(answer)) = (&settled, record_of(&settled)) {
                self.record(&id, answer, gathered, false);
            }
            return Err(ToolEffectError::Cancelled);
        }
        match record_of(&settled) {
            Some(answer) => {
                self.record(&id, answer, gathered, self.writes_answers() || once);
                self.shared.write_soon();
            }
            None if once && has_not_begun(&settled) => self.shared.progress.forget(self.ordinal, id.as_str()),
            None => {}
        }
        settled
    }
}

/// Whether a call may be made twice.
fn is_idempotent(call: &ToolEffect<'_>) -> bool {
    match call.tool.binding() {
        ToolBinding::Activity { options, .. } => options.idempotent,
        ToolBinding::Mcp(binding) => binding.options().idempotent,
        _ => true,
    }
}

/// What is recorded of an outcome; nothing of one that another attempt is to find out anew.
fn record_of(settled: &Result<ToolAnswer, ToolEffectError>) -> Option<EffectAnswer> {
    let failed = |how, message: &str| Some(EffectAnswer::ToolFailed { how, message: message.to_owned() });
    match settled {
        Ok(ToolAnswer { output, context_patch, usage: _, question }) => Some(EffectAnswer::Tool {
            output: output.clone(),
            context_patch: context_patch.clone(),
            question: question.clone(),
        }),
        Err(ToolEffectError::Failed { tell_model, message, source: _ }) => {
            failed(ToolFailed::Error { tell_model: tell_model.clone() }, message)
        }
        Err(ToolEffectError::Panicked { message, source: _ }) => failed(ToolFailed::Panic, message),
        Err(ToolEffectError::Oversized { message, source: _ }) => failed(ToolFailed::Oversized, message),
        Err(ToolEffectError::TimedOut { after, source }) => {
            failed(ToolFailed::Timeout { after: *after }, &source.to_string())
        }
        Err(ToolEffectError::OutcomeUnknown { source }) => failed(ToolFailed::OutcomeUnknown, &source.to_string()),
        Err(_) => None,
    }
}

/// The same as it was.
fn failed(how: ToolFailed, message: String) -> ToolEffectError {
    let source = message.clone().into();
    match how {
        ToolFailed::Error { tell_model } => ToolEffectError::Failed { tell_model, message, source },
        ToolFailed::Panic => ToolEffectError::Panicked { message, source },
        ToolFailed::Oversized => ToolEffectError::Oversized { message, source },
        ToolFailed::Timeout { after } => ToolEffectError::TimedOut { after, source },
        ToolFailed::OutcomeUnknown => ToolEffectError::OutcomeUnknown { source },
    }
}

fn has_not_begun(settled: &Result<ToolAnswer, ToolEffectError>) -> bool {
    matches!(
        settled,
        Err(ToolEffectError::Host(_)
            | ToolEffectError::Absent(_)
            | ToolEffectError::NotRegistered { .. }
            | ToolEffectError::SessionLost { began: false, .. })
    )
}

impl Host for SessionHost {
    type Scope = CancellationToken;

    fn scope(&self) -> Self::Scope {
        self.inner.scope()
    }

    fn child(&self, scope: &Self::Scope) -> Self::Scope {
        self.inner.child(scope)
    }

    fn cancel(&self, scope: &Self::Scope) {
        self.inner.cancel(scope);
    }

    fn idempotency_scope(&self) -> String {
        self.inner.idempotency_scope()
    }

    fn lacks(&self, graph: &Graph) -> Vec<GraphIssue> {
        let of_session = StateRequirement::of::<SessionResults>();
        states::missing(graph, |requirement| *requirement == of_session || self.inner.states.has(requirement))
    }

    fn checkpoint(&self, path: &str, state: &RunState) {
        self.inner.checkpoint(path, state);
        if path.is_empty() && !self.goes_on.swap(false, Ordering::Relaxed) && self.is_point(state) {
            self.reach(state);
        }
    }

    fn observe(&self, event: &RunEvent<'_>) {
        self.inner.observe(event);
        if let RunEvent::TurnStarted { agent, turn } = event {
            tracing::info!(agent, turn, run = self.ordinal, "a turn of the session begins");
        }
    }

    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>> {
        async move {
            if let Some(EffectAnswer::Model { response }) = self.effect_answer(&id) {
                return Ok(response);
            }
            if !self.is_settled(scope).await {
                return Err(ModelEffectError::Cancelled);
            }
            let response = self.inner.call_model(id.clone(), call, scope).await?;
            let answer = EffectAnswer::Model { response: response.clone() };
            self.record(&id, answer, Vec::new(), self.writes_answers());
            Ok(response)
        }
        .boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>> {
        self.tool(call, scope).boxed_local()
    }

    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        self.inner.list_mcp_tools(call, scope)
    }

    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        self.inner.open_mcp_session(call, scope)
    }

    fn close_mcp_session(&self, session: McpSession, id: EffectId) -> LocalBoxFuture<'_, ()> {
        self.inner.close_mcp_session(session, id)
    }

    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>> {
        async move {
            if matches!(call.action, SessionAction::Add { .. }) {
                // What the session is told must be what another attempt knows, too. And what a cut-off attempt leaves of a turn is not the turn.
                self.shared.progress.make_due();
                let settled = self.shared.writer.settle().await;
                if settled.is_err() && self.shared.end.is_followed() {
                    return Err(SessionEffectError::Cancelled);
                }
            }
            self.inner.call_session(call, scope).await
        }
        .boxed_local()
    }

    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        async move {
            if state.interruptions().is_empty() {
                return WaitOutcome::Decided;
            }
            let Some(approver) = &self.shared.approver else { return WaitOutcome::Undecided };
            // People are asked about what another attempt knows, too.
            if !self.is_settled(scope).await {
                return WaitOutcome::Cancelled;
            }
            match scope.run_until_cancelled(decide(self, state, &**approver)).await {
                Some(Ok(())) => WaitOutcome::Decided,
                Some(Err(Ended)) | None => WaitOutcome::Cancelled,
            }
        }
        .boxed_local()
    }

    fn is_to_move(&self, state: &RunState) -> bool {
        self.compacts
            && matches!(state.phase, Phase::TurnDue)
            && self.compacted_at.load(Ordering::Relaxed) != state.turn
            && state.model_items().map(|item| item.raw.json_len()).sum::<usize>() > self.shared.compact_over
    }

    fn move_on<'a>(&'a self, state: &'a RunState, _scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        // The conversation is shorter by now, and the run goes on right here.
        self.compacted_at.store(state.turn, Ordering::Relaxed);
        let error = RunError::Continuation { agent: state.agent.clone(), turn: state.turn, source: Box::new(Stays) };
        std::future::ready(error).boxed_local()
    }
}

impl SessionHost {
    /// Puts an earlier attempt's run where it stood.
    pub(super) fn take_up(&self, begun: &Begun) {
        self.goes_on.store(begun.earlier.state.is_some(), Ordering::Relaxed);
        self.inner.session_writes.store(begun.earlier.session_writes, Ordering::Relaxed);
        if let (Some(memory), Some(items)) = (&self.memory, &begun.earlier.memory) {
            memory.clear();
            memory.add(items.clone());
        }
    }
}
