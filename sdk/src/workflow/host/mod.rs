//! The host of a durable run: maps the loop's effects (model calls, tool calls and other I/O) to
//! activities of this workflow.
//!
//! A model call comes here from `drive/model.rs`, and continues in
//! `workflow/activity_backed_model.rs`.

mod expiry;
mod history;
mod index;
mod progress;
mod run_id;
mod sources;
mod tool;
mod watched;

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeSet,
    rc::Rc,
    sync::Arc,
};

use futures::{FutureExt, future::LocalBoxFuture};
use temporal_agents_core::{
    drive::{
        EffectId, Host, KeptDecisionsEffect, LoopEvent, McpEffect, McpEffectError, ModelEffectError, SessionAction,
        SessionEffect, SessionEffectError, SourceEffectError, ToolAnswer, ToolEffect, ToolEffectError, ToolsetsEffect,
        WaitOutcome,
        watch::{RunWatch, Seen},
    },
    engine::RunError,
    wire::{
        Interruption, Item, Ledger, McpTool, ModelCall, ModelResponse, RunState, SelectedToolset, TraceSettings,
        event::RunNote,
        kept_decision::KeptDecision,
        mcp_call::{McpOperation, McpSession},
    },
};
use temporalio_workflow::WorkflowCancellationToken;

pub(super) use self::run_id::{run_id, short_id};
use self::{history::json_len, progress::Tokens};
#[cfg(feature = "nexus")]
use super::limits::nexus::Nexus;
use super::{
    activity_backed_model::{ActivityBackedModel, HistoryAccount},
    context::DurableContext,
    continuing::{ContinuableRun, Place},
    effect::{mcp_call, mcp_session, session_call},
    inbox::RunInbox,
    limits::{
        gate::{Gate, poll_until_idle},
        local_gate::LocalGate,
        size::encoded_len,
    },
    replay_journal::note_event,
};

/// The host of one durable run. Its activity ids begin with the id of the run, so that the ids of
/// several runs of a workflow do not collide.
pub(super) struct WorkflowHost {
    ctx: Rc<dyn DurableContext>,
    model: Arc<ActivityBackedModel>,
    /// Id of the run, drawn with its first effect. A run that pauses before its first effect has
    /// drawn nothing, so that the next run draws the number that this one would have drawn.
    run: OnceCell<String>,
    session_calls: Cell<u32>,
    inbox: Option<RunInbox>,
    /// Cancels the run. Held here, because a child token does not keep its parent alive.
    token: WorkflowCancellationToken,
    /// The content that history holds, including that of earlier runs.
    ledger: Rc<RefCell<Ledger>>,
    /// State of the automatic continue-as-new, if it is enabled.
    moving: Option<Rc<ContinuableRun>>,
    /// Limits how much of the run is in flight.
    gate: Rc<Gate>,
    #[cfg(feature = "nexus")]
    nexus: Nexus,
    /// Limits the results of local activities that one workflow task carries.
    locals: LocalGate,
    /// The note about a pause, which is recorded with its questions.
    pause: RefCell<Option<RunNote>>,
    /// Sees what the run does, on a worker that counts.
    watch: Option<Box<dyn RunWatch>>,
    /// Activity types of tools with several versions, in addition to the tools that are marked.
    versioned_tools: Arc<BTreeSet<String>>,
    /// The tokens of the run so far.
    tokens: Tokens,
    /// Settings of the trace of the run, which its notes have.
    trace: Option<Box<TraceSettings>>,
}

impl WorkflowHost {
    pub(super) fn new(
        ctx: Rc<dyn DurableContext>,
        model: Arc<ActivityBackedModel>,
        inbox: Option<RunInbox>,
        token: WorkflowCancellationToken,
        ledger: Rc<RefCell<Ledger>>,
        moving: Option<ContinuableRun>,
    ) -> Self {
        let watch = ctx.run_watch();
        Self {
            ctx,
            model,
            run: OnceCell::new(),
            session_calls: Cell::new(0),
            inbox,
            token,
            ledger,
            moving: moving.map(Rc::new),
            gate: Gate::new(None).into(),
            #[cfg(feature = "nexus")]
            nexus: Nexus::default(),
            locals: LocalGate::default(),
            pause: RefCell::default(),
            watch,
            versioned_tools: Arc::default(),
            tokens: Tokens::default(),
            trace: None,
        }
    }

    /// Sets an id that was drawn before.
    pub(super) fn with_id(mut self, run: OnceCell<String>) -> Self {
        self.run = run;
        self
    }

    /// Sets the activity types of the tools that the run's set of agents has in several versions.
    pub(super) fn with_versioned_tools(mut self, activity_types: Arc<BTreeSet<String>>) -> Self {
        self.versioned_tools = activity_types;
        self
    }

    /// Sets the number of tool calls that the run makes at the same time.
    pub(super) fn with_tool_concurrency(mut self, most: Option<usize>) -> Self {
        self.gate = Gate::new(most).into();
        self
    }

    /// Awaits the run on this host, and polls it again whenever one of its gates may have room.
    pub(super) async fn settled<T>(&self, run: impl Future<Output = T>) -> T {
        // `|` and not `||`: each operand also resets its flag.
        let take_wakeup = || self.gate.take_wakeup() | self.locals.take_wakeup();
        #[cfg(feature = "nexus")]
        let take_wakeup = || take_wakeup() | self.nexus.take_wakeup();
        poll_until_idle(take_wakeup, run).await
    }

    fn run(&self) -> &str {
        run_id(&self.run, &self.ctx)
    }

    fn place<'p>(&'p self, token: &'p WorkflowCancellationToken) -> Place<'p> {
        Place { ctx: &self.ctx, inbox: self.inbox.as_ref(), run: self.run(), token }
    }
}

impl Host for WorkflowHost {
    type Scope = WorkflowCancellationToken;

    /// Creates a scope. The loop must hold the scope for as long as its effects run: an operation
    /// does not keep its token alive, and a dropped token no longer receives the cancellation of
    /// its parent.
    fn scope(&self) -> Self::Scope {
        self.token.child_token()
    }

    fn child(&self, scope: &Self::Scope) -> Self::Scope {
        scope.child_token()
    }

    fn cancel(&self, scope: &Self::Scope) {
        scope.cancel();
    }

    fn call_model<'a>(
        &'a self,
        id: EffectId,
        call: ModelCall,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ModelResponse, ModelEffectError>> {
        let activity_id = format!("{}-{id}", self.run());
        // Each run, and each run inside it, has its own conversation.
        let chain = format!("{}-{}", self.run(), id.path());
        async move {
            if let Some(moving) = &self.moving {
                // Later content is counted when it is answered or returned; content of earlier runs
                // is not new.
                let new = if call.turn == 1 { self.new_bytes(&call.input) } else { 0 };
                moving.model_call(new);
            }
            if !self.model.is_local(&call.agent) {
                self.record_command(|| 0);
            }
            let late = || self.record_command(|| 0);
            let wrote = |bytes| {
                if let Some(moving) = &self.moving {
                    moving.sent(bytes);
                }
                self.see(|| Seen::Recorded { bytes });
            };
            let wrote_definitions = |bytes, share| {
                if let Some(moving) = &self.moving {
                    moving.sent_definitions(bytes, share);
                }
                self.see(|| Seen::Recorded { bytes });
            };
            self.see(|| Seen::ModelCalled { path: id.path() });
            let books = HistoryAccount {
                ledger: &self.ledger,
                chain,
                gate: &self.gate,
                late: &late,
                wrote: &wrote,
                wrote_definitions: &wrote_definitions,
            };
            let is_outermost = id.path().is_empty();
            // After a model call of the outermost run, the workflow task with the earlier local
            // results has ended.
            let ends_a_task = is_outermost && !self.model.is_local(&call.agent);
            let response = self.model.call(&self.ctx, books, call, activity_id, scope.clone()).await?;
            if ends_a_task {
                self.locals.reset_task_budget();
            }
            self.answered(is_outermost);
            self.notes(|| json_len(&response.output));
            Ok(response)
        }
        .boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>> {
        let id = format!("{}-{}", self.run(), call.id);
        self.make_tool_call(call, id, scope).boxed_local()
    }

    fn batches_tools(&self) -> bool {
        true
    }

    fn call_tools<'a>(
        &'a self,
        calls: Vec<ToolEffect<'a>>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Vec<Result<ToolAnswer, ToolEffectError>>> {
        self.make_tool_calls(calls, scope).boxed_local()
    }

    fn list_mcp_tools<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<McpTool>, McpEffectError>> {
        let activity_id = format!("{}-{}", self.run(), call.id);
        async move {
            self.record_command(|| 0);
            let summary = format!("tools of {} · {} · turn {}", call.server.name(), call.agent, call.turn);
            let asked = mcp_call::Asked {
                server: call.server,
                operation: McpOperation::ListTools,
                summary,
                session: call.session,
            };
            let result = mcp_call::ask(&self.ctx, asked, activity_id, scope.clone()).await?;
            self.notes(|| encoded_len(&result).unwrap_or_default());
            mcp_call::tools(result).map_err(McpEffectError::Failed)
        }
        .boxed_local()
    }

    fn open_mcp_session<'a>(
        &'a self,
        call: McpEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<McpSession, McpEffectError>> {
        let activity_id = format!("{}-{}", self.run(), call.id);
        async move {
            self.record_command(|| 0);
            mcp_session::open(&self.ctx, call, activity_id, scope.clone()).await
        }
        .boxed_local()
    }

    fn close_mcp_session(&self, session: McpSession, id: EffectId) -> LocalBoxFuture<'_, ()> {
        let activity_id = format!("{}-{id}", self.run());
        async move {
            self.record_command(|| 0);
            mcp_session::close(&self.ctx, session, activity_id).await;
        }
        .boxed_local()
    }

    fn find_toolsets<'a>(
        &'a self,
        call: ToolsetsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<SelectedToolset>, SourceEffectError>> {
        self.toolsets(call, scope).boxed_local()
    }

    fn kept_decisions<'a>(
        &'a self,
        call: KeptDecisionsEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<KeptDecision>, SourceEffectError>> {
        self.decisions(call, scope).boxed_local()
    }

    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>> {
        let number = self.session_calls.get();
        self.session_calls.set(number + 1);
        let activity_id = format!("{}-session-{number}", self.run());
        async move {
            self.record_command(|| match &call.action {
                SessionAction::Add { items } => json_len(items),
                SessionAction::Read { .. } => 0,
            });
            let items = session_call::call(&self.ctx, call, activity_id, scope).await?;
            self.notes(|| json_len(&items));
            Ok(items)
        }
        .boxed_local()
    }

    /// Waits for decisions in the workflow's inbox. Without an inbox no decision can arrive, so
    /// that the calls stay undecided.
    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        self.wait_until_decided(state, scope).boxed_local()
    }

    fn now_millis(&self) -> Option<u64> {
        let waits = self.inbox.as_ref().is_some_and(RunInbox::waits);
        waits.then(|| self.time_millis())?
    }

    fn is_continuation_due(&self, state: &RunState) -> bool {
        self.moving
            .as_ref()
            .is_some_and(|moving| moving.is_due(self.inbox.as_ref(), &self.token, state, |slug| self.ctx.patched(slug)))
    }

    fn continue_elsewhere<'a>(&'a self, state: &'a RunState, scope: &'a Self::Scope) -> LocalBoxFuture<'a, RunError> {
        let (agent, turn) = (state.agent.clone(), state.turn);
        if let Some(moving) = &self.moving {
            return self.leave(moving, state, scope).boxed_local();
        }
        let source = "its runner has no function that makes the next input (Runner::continue_with)".into();
        std::future::ready(RunError::Continuation { agent, turn, source }).boxed_local()
    }

    /// Returns the scope of the run's idempotency keys. It contains neither namespace nor workflow
    /// id: a history that is replayed from a file does not have them, and the ids are unique
    /// without them.
    fn idempotency_scope(&self) -> String {
        format!("{}/{}", self.ctx.first_run_id(), self.run())
    }

    fn patched(&self, slug: &str) -> bool {
        self.ctx.patched(slug)
    }

    fn is_replaying(&self) -> bool {
        self.ctx.is_replaying()
    }

    fn checkpoint(&self, path: &str, state: &RunState) {
        self.see(|| Seen::Step { path, state });
    }

    fn note(&self, path: &str, note: RunNote, _interruptions: &[Interruption]) {
        self.see(|| Seen::Noted { path, note: &note });
        self.take_note(path, note);
    }

    /// Shows the activity of the run in the Temporal UI, as the workflow's current details. Logs,
    /// once and not on replay, the events that are neither in history nor reported to a model.
    fn observe(&self, event: &LoopEvent<'_>) {
        note_event(&*self.ctx, event);
        self.see_event(event);
        if !self.ctx.is_replaying() {
            event.warn();
        }
        self.show(event);
    }
}
