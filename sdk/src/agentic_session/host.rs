//! The host of a run in a session: the inline host, with a memory that outlives its process.
//!
//! Before a call of a model or a tool, the host waits until the server has everything that the call
//! depends on. The answer of a call is recorded, and is not requested again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporal_agents_core::{
    agent::{Graph, GraphIssue},
    drive::{
        EffectId, Host, KeptDecisionsEffect, LoopEvent, McpEffect, McpEffectError, MemorySession, ModelEffectError,
        SessionAction, SessionEffect, SessionEffectError, SourceEffectError, Stays, ToolAnswer, ToolEffect,
        ToolEffectError, ToolsetsEffect, WaitOutcome,
    },
    engine::RunError,
    tool::{DeltaTransport, ToolDef, ToolFailure, ToolFailureKind, state::StateRequirement},
    wire::{
        Interruption, Item, McpTool, ModelCall, ModelResponse, RunState, SelectedToolset, Usage,
        event::{NoteKind, RunNote},
        kept_decision::KeptDecision,
        mcp_call::McpSession,
        run_state::{Admission, Phase},
        session_checkpoint::EffectAnswer,
    },
};
use tokio_util::sync::CancellationToken;

use super::{
    calls::Calls, decisions::decide, error::Ended, progress::Point, proposal, results::SessionResults, session::Shared,
};
use crate::inline::{
    host::{InlineHost, Settled},
    states,
};

/// The host of one run of a session.
pub(super) struct SessionHost {
    pub(super) inner: InlineHost,
    pub(super) shared: Arc<Shared>,
    pub(super) ordinal: usize,
    pub(super) calls: Calls,
    /// The run's conversation session, if it is one in memory.
    pub(super) memory: Option<MemorySession>,
    pub(super) compacts: bool,
    /// Marks that the next checkpoint is the state from which the run continues, which needs no new
    /// record.
    pub(super) goes_on: AtomicBool,
    /// The turn before which the conversation was last shortened.
    pub(super) compacted_at: AtomicU32,
}

/// The failure of a call that another attempt would make again, and must not.
#[derive(Debug, thiserror::Error)]
#[error(
    "tool {tool:?} is not idempotent, and checkpoints of the ToolRegistry/AgenticSession proposal do not record that a \
     call has begun; remove the tool from the agent, {}",
    proposal::REMEDY
)]
struct NotIdempotent {
    tool: String,
}

impl SessionHost {
    fn effect_answer(&self, id: &EffectId) -> Option<EffectAnswer> {
        self.shared.progress.answer(self.ordinal, id.as_str())
    }

    fn record(&self, id: &EffectId, answer: EffectAnswer, gathered: Vec<Value>, is_due: bool) {
        self.shared.progress.record(self.ordinal, id.as_str(), answer, gathered, is_due);
    }

    /// `true` if each answer is written, not only the states between turns.
    fn writes_answers(&self) -> bool {
        self.shared.checkpoint_every == 1
    }

    /// `true` if another attempt can continue from this state, and the options make it a
    /// checkpoint.
    fn is_resume_point(&self, state: &RunState) -> bool {
        match state.phase {
            // The input guardrails that run concurrently with the first turn have ended by the
            // second; until all have, their results are not in the state.
            Phase::TurnDue if state.turn > 0 && state.admission != Admission::Admitted => false,
            Phase::TurnDue => state.turn.is_multiple_of(self.shared.checkpoint_every),
            Phase::Interrupted { .. } => state.admission == Admission::Admitted,
            Phase::Finished { .. } => true,
            _ => false,
        }
    }

    /// Records a state from which another attempt continues.
    pub(super) fn reach(&self, state: &RunState) {
        let session_writes = self.inner.session_writes.load(Ordering::Relaxed);
        let memory = self.memory.as_ref().map(MemorySession::items);
        // Nested runs end within a turn, unless they wait.
        let nested = matches!(state.phase, Phase::Interrupted { .. });
        let observed = self.inner.publisher.as_ref().map(|publisher| publisher.snapshot(nested));
        self.shared.progress.reach(self.ordinal, Point { state, session_writes, memory, observed });
    }

    /// Waits until the server has everything that an effect depends on. Returns `false` when the
    /// effect must not take place: its scope is cancelled, or the session has ended.
    async fn wait_until_written(&self, scope: &CancellationToken) -> bool {
        matches!(scope.run_until_cancelled(self.shared.writer.settle()).await, Some(Ok(())))
    }

    async fn tool(&self, call: ToolEffect<'_>, scope: &CancellationToken) -> Result<ToolAnswer, ToolEffectError> {
        let id = call.id.clone();
        if let Some(answer) = self.effect_answer(&id) {
            let outcome = restored(&id, answer);
            if call.tool.binding().leaves_a_reply() {
                self.inner.observed_call(&id, &call.info.agent, call.info.turn).restored(&call.info, &outcome);
            }
            return outcome;
        }
        let once = !call.tool.is_idempotent();
        if once && self.shared.format.is_proposal() {
            return Err(ToolEffectError::Host(NotIdempotent { tool: call.tool.name().to_owned() }.into()));
        }
        // Recorded before the call, so that another attempt does not repeat it.
        if once {
            self.record(&id, EffectAnswer::Begun, Vec::new(), true);
        }
        if !self.wait_until_written(scope).await {
            self.shared.progress.forget(self.ordinal, id.as_str());
            return Err(ToolEffectError::Cancelled);
        }
        if let (Some(deltas), Some(publisher)) = (&self.shared.deltas, &self.inner.publisher) {
            let effect = &id.as_str()[id.path().len()..];
            deltas.tool_begins(&publisher.run_at(id.path()), &call.info.call_id, effect);
        }
        let key = call.info.idempotency_key().to_owned();
        let Settled { outcome: settled, is_late } = self.inner.call_tool_with_grace_period(call, scope).await;
        let gathered = self.calls.gathered(&key);
        if is_late || (settled.is_err() && scope.is_cancelled()) {
            // The output of a body that succeeds after the cancellation is kept, so that the tool
            // is not run again. A body that returns an error because of the cancellation has not
            // failed: another attempt runs it again, or reports its outcome as unknown.
            if let (Ok(_), Some(answer)) = (&settled, recorded_answer(&settled)) {
                self.record(&id, answer, gathered, false);
            }
            return Err(ToolEffectError::Cancelled);
        }
        match recorded_answer(&settled) {
            Some(answer) => {
                self.record(&id, answer, gathered, self.writes_answers() || once);
                self.shared.write_soon();
            }
            // The call has not reached the tool, so another attempt may make it.
            None if once && has_not_begun(&settled) => self.shared.progress.forget(self.ordinal, id.as_str()),
            None => {}
        }
        settled
    }
}

/// Returns the outcome of a tool call that an earlier attempt has recorded.
fn restored(id: &EffectId, answer: EffectAnswer) -> Result<ToolAnswer, ToolEffectError> {
    match answer {
        EffectAnswer::Tool { output, context_patch, side_data, question } => {
            Ok(ToolAnswer { output, context_patch, side_data, usage: Usage::default(), question })
        }
        EffectAnswer::ToolFailed { how, message } => Err(ToolFailure::of_record(how, message).into()),
        EffectAnswer::Begun => {
            let message = "the worker was lost, or the call cancelled, after it had begun";
            Err(ToolFailure::new(ToolFailureKind::OutcomeUnknown, message).into())
        }
        EffectAnswer::Model { .. } => {
            let source = format!("the checkpoint holds a model response under the id {id} of a tool call").into();
            Err(ToolEffectError::Host(source))
        }
    }
}

/// Returns the record of an outcome, or `None` for an outcome that another attempt must determine
/// again.
fn recorded_answer(settled: &Result<ToolAnswer, ToolEffectError>) -> Option<EffectAnswer> {
    match settled {
        Ok(ToolAnswer { output, context_patch, side_data, usage: _, question }) => Some(EffectAnswer::Tool {
            output: output.clone(),
            context_patch: context_patch.clone(),
            side_data: side_data.clone(),
            question: question.clone(),
        }),
        Err(ToolEffectError::Failed { failure, .. }) => {
            let message = failure.message.clone();
            failure.recorded().map(|how| EffectAnswer::ToolFailed { how, message })
        }
        Err(_) => None,
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
        states::missing(graph, |requirement| *requirement == of_session || self.inner.resources.states.has(requirement))
    }

    fn tool_deltas(&self, path: &str, tool: &ToolDef) -> Option<Arc<dyn DeltaTransport>> {
        self.inner.tool_deltas(path, tool)
    }

    fn checkpoint(&self, path: &str, state: &RunState) {
        self.inner.checkpoint(path, state);
        if path.is_empty() && !self.goes_on.swap(false, Ordering::Relaxed) && self.is_resume_point(state) {
            self.reach(state);
        }
    }

    fn note(&self, path: &str, note: RunNote, interruptions: &[Interruption]) {
        // The run has not ended: the next attempt continues it.
        if matches!(note.note, NoteKind::Cancelled { .. }) && self.shared.end.is_continued_by_next_attempt() {
            return;
        }
        // An earlier attempt has reported the pause in which this one begins.
        let is_known = || self.inner.publisher.as_ref().is_some_and(|publisher| publisher.is_paused());
        if matches!(note.note, NoteKind::Paused) && is_known() {
            return;
        }
        self.inner.note(path, note, interruptions);
    }

    fn observe(&self, event: &LoopEvent<'_>) {
        self.inner.observe(event);
        if let LoopEvent::TurnStarted { agent, turn } = event {
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
                let observed = self.inner.observed_call(&id, &call.agent, call.turn);
                observed.model_scheduled(&call);
                observed.model_answered(&response);
                return Ok(response);
            }
            if !self.wait_until_written(scope).await {
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

    fn find_toolsets<'a>(
        &'a self,
        call: ToolsetsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<SelectedToolset>, SourceEffectError>> {
        self.inner.find_toolsets(call, scope)
    }

    fn kept_decisions<'a>(
        &'a self,
        call: KeptDecisionsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<KeptDecision>, SourceEffectError>> {
        self.inner.kept_decisions(call, scope)
    }

    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>> {
        async move {
            if matches!(call.action, SessionAction::Add { .. }) {
                // A write to the session store must be known to the next attempt as well. And the
                // items of a turn that this attempt does not finish are not the turn.
                self.shared.progress.require_all_written();
                let settled = self.shared.writer.settle().await;
                if settled.is_err() && self.shared.end.is_continued_by_next_attempt() {
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
            // A question to a person must be about a call that the next attempt also knows.
            if !self.wait_until_written(scope).await {
                return WaitOutcome::Cancelled;
            }
            match scope.run_until_cancelled(decide(self, state, &**approver)).await {
                Some(Ok(())) => WaitOutcome::Decided,
                Some(Err(Ended)) | None => WaitOutcome::Cancelled,
            }
        }
        .boxed_local()
    }

    fn is_continuation_due(&self, state: &RunState) -> bool {
        self.compacts
            && matches!(state.phase, Phase::TurnDue)
            && self.compacted_at.load(Ordering::Relaxed) != state.turn
            && state.model_items().map(|item| item.raw.json_len()).sum::<usize>() > self.shared.compaction_threshold
    }

    fn continue_elsewhere<'a>(&'a self, state: &'a RunState, _scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        // The conversation has already been shortened, and the run continues in this host.
        self.compacted_at.store(state.turn, Ordering::Relaxed);
        let error = RunError::Continuation { agent: state.agent.clone(), turn: state.turn, source: Box::new(Stays) };
        std::future::ready(error).boxed_local()
    }
}
