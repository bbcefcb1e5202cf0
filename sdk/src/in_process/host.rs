//! The host of a run that is a task: the inline host, with an inbox for decisions, and with notes
//! about pauses as a workflow records them.

use std::{
    cell::{Cell, RefCell},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    task::Poll,
    time::{Duration, SystemTime},
};

use futures::{FutureExt, future::LocalBoxFuture, poll};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use temporal_agents_core::{
    agent::{Graph, GraphIssue},
    drive::{
        EffectId, Host, KeptDecisionsEffect, LoopEvent, McpEffect, McpEffectError, ModelEffectError, SessionEffect,
        SessionEffectError, SourceEffectError, ToolAnswer, ToolEffect, ToolEffectError, ToolsetsEffect, WaitOutcome,
    },
    tool::{DeltaTransport, ToolDef},
    wire::{
        AgentInterruption, Interruption, Item, McpTool, ModelCall, ModelResponse, RunState, SelectedToolset,
        asked_questions::AskedQuestions,
        event::{NoteKind, NotedDecision, RunNote},
        kept_decision::KeptDecision,
        mcp_call::McpSession,
    },
};
use temporalio_workflow::WorkflowCancellationToken;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    admission::{Admission, Place},
    inbox::TaskInbox,
    writer::{Entry, RunLog},
};
use crate::{events::EventPublisher, inline::host::InlineHost, workflow::RunInbox};

/// A run that waits, as its row has it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PausedTask {
    /// Prefix of the ids of the run's effects.
    pub(super) run: String,
    pub(super) state: Box<RunState>,
    /// State of the facts on which later ones depend.
    pub(super) facts: Value,
    pub(super) session_writes: u32,
    pub(super) inbox: Value,
    /// Number of the latest mail that the inbox contains.
    pub(super) mail: i64,
}

/// The host of one run.
pub(super) struct TaskHost {
    pub(super) inner: InlineHost,
    pub(super) inbox: RunInbox,
    pub(super) shared: Arc<TaskInbox>,
    pub(super) publisher: Arc<EventPublisher>,
    /// Stops the run in this process: it has not ended then, and notes nothing.
    pub(super) stopped: CancellationToken,
    pub(super) is_paused: Arc<AtomicBool>,
    pub(super) log: RunLog,
    /// Number of the latest mail of the task that was read.
    pub(super) mail: Arc<AtomicI64>,
    /// `true` until a run that was taken over waits again: its pause is known.
    pub(super) takes_over: Cell<bool>,
    pub(super) admission: Arc<Admission>,
    /// The place of the run; `None` while it waits for people.
    pub(super) place: RefCell<Option<Place>>,
    /// The note about a pause, until the run waits.
    pub(super) pause: RefCell<Option<RunNote>>,
}

impl TaskHost {
    /// Records that the run waits for decisions on these questions.
    fn pauses(&self, state: &RunState, questions: Vec<AgentInterruption>) {
        self.log.hold();
        if let (Some(note), false) = (self.pause.borrow().clone(), self.takes_over.take()) {
            let asked = AskedQuestions::new(&*state.agent, state.turn, questions);
            let note = RunNote { run: self.publisher.run_at(""), ..note };
            self.publisher.observe(|facts| facts.noted(note, Some(asked)));
        }
        // The number first: a decision that comes in between is read again.
        let mail = self.mail.load(Ordering::Relaxed);
        let paused = PausedTask {
            run: self.inner.run.clone(),
            state: Box::new(state.clone()),
            facts: self.publisher.snapshot(true),
            session_writes: self.inner.session_writes.load(Ordering::Relaxed),
            inbox: self.shared.value(),
            mail,
        };
        self.changes(Some(json!(paused)));
        self.log.release();
        self.place.replace(None);
    }

    fn changes(&self, paused: Option<Value>) {
        self.is_paused.store(paused.is_some(), Ordering::Relaxed);
        self.log.push(Entry::Paused(paused.map(Box::new)));
        self.log.push(Entry::Inbox);
    }
}

impl TaskHost {
    /// Awaits the wait of a run for decisions. Questions that expire meanwhile are decided, as if
    /// somebody had sent the decision.
    async fn unless_expired(&self, state: &RunState, waiting: impl Future<Output = WaitOutcome>) -> WaitOutcome {
        let mut waiting = pin!(waiting);
        // The run publishes its questions when it is first polled.
        if let Poll::Ready(outcome) = poll!(waiting.as_mut()) {
            return outcome;
        }
        let Some(at) = self.inbox.next_expiry(&state.expiries) else { return waiting.await };
        let time = Duration::from_millis(at.saturating_sub(millis_now()));
        if let Ok(outcome) = timeout(time, waiting.as_mut()).await {
            return outcome;
        }
        let expired = self.inbox.expire(&state.expiries, millis_now().max(at));
        let decisions: Vec<NotedDecision> =
            expired.iter().map(|(id, decision)| NotedDecision::new(id, decision)).collect();
        if !decisions.is_empty() {
            self.note("", RunNote::new(&*state.agent, state.turn, NoteKind::Expired { decisions }), &[]);
        }
        // A decision ends the wait.
        waiting.await
    }
}

fn millis_now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Host for TaskHost {
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

    fn now_millis(&self) -> Option<u64> {
        Some(millis_now())
    }

    fn idempotency_scope(&self) -> String {
        self.inner.idempotency_scope()
    }

    fn lacks(&self, graph: &Graph) -> Vec<GraphIssue> {
        self.inner.lacks(graph)
    }

    fn tool_deltas(&self, path: &str, tool: &ToolDef) -> Option<Arc<dyn DeltaTransport>> {
        self.inner.tool_deltas(path, tool)
    }

    fn note(&self, path: &str, note: RunNote, interruptions: &[Interruption]) {
        if self.stopped.is_cancelled() {
            return;
        }
        if note.note == NoteKind::Paused {
            self.pause.replace(Some(note));
            return;
        }
        if path.is_empty() && note.note.ends_the_run() {
            // With it, the task ends or the message of the chat is answered.
            self.log.hold();
        }
        self.inner.note(path, note, interruptions);
    }

    /// The facts tell by the next effect that the run goes on, as those of a history.
    fn observe(&self, event: &LoopEvent<'_>) {
        event.warn();
        if let LoopEvent::TurnStarted { agent, turn } = event {
            self.inbox.at_turn(agent, *turn);
        }
    }

    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>> {
        self.inner.call_model(id, call, scope)
    }

    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>> {
        self.inner.call_tool(call, scope)
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
        self.inner.call_session(call, scope)
    }

    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        async move {
            let before = state.clone();
            let pauses = |questions| self.pauses(&before, questions);
            let waiting = self.inbox.wait(state, None, WorkflowCancellationToken::new(), pauses);
            let outcome = self.unless_expired(&before, waiting).await;
            if scope.is_cancelled() {
                return WaitOutcome::Cancelled;
            }
            if outcome == WaitOutcome::Decided {
                if self.place.borrow().is_none() {
                    let Some(place) = scope.run_until_cancelled(self.admission.place()).await else {
                        return WaitOutcome::Cancelled;
                    };
                    self.place.replace(Some(place));
                }
                // The next pause is a new one, also if this one was over at once.
                self.takes_over.set(false);
                self.changes(None);
                // Nobody takes over a run that goes on.
                if !self.log.flush().await {
                    return WaitOutcome::Cancelled;
                }
            }
            outcome
        }
        .boxed_local()
    }
}
