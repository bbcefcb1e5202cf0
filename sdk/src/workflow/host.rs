//! The host of a durable run: maps the loop's effects to activities of this workflow.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use futures::{FutureExt, future::LocalBoxFuture};
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    activity_backed_model::ActivityBackedModel, context::DurableContext, inbox::RunInbox, session_call, tool_call,
};
use crate::{
    drive::{
        EffectId, Host, ModelEffectError, RunEvent, RunFailure, RunOutcome, SessionEffect, SessionEffectError,
        ToolAnswer, ToolEffect, ToolEffectError, WaitOutcome,
    },
    wire::{Item, Ledger, ModelCall, ModelResponse, RunState},
};

/// Runs inside a run whose conversations are known.
const MOST_LEDGERS: usize = 256;

/// One durable run. Its activity ids begin with its own id, so that several runs of a workflow keep apart.
pub(super) struct WorkflowHost {
    ctx: Rc<dyn DurableContext>,
    model: ActivityBackedModel,
    /// Drawn with the first effect. A run that pauses before it has done anything has drawn nothing, so that it leaves no trace
    /// in history: see `tests/it/agent_handlers/taken_up.rs`.
    run: OnceCell<String>,
    session_calls: Cell<u32>,
    inbox: Option<RunInbox>,
    /// What cancels the run; held here, because a child token does not keep its parent.
    token: WorkflowCancellationToken,
    /// What history holds, for this run and each run inside it, by the path of their effects.
    ledgers: RefCell<BTreeMap<String, Rc<RefCell<Ledger>>>>,
}

impl WorkflowHost {
    pub(super) fn new(
        ctx: Rc<dyn DurableContext>,
        model: ActivityBackedModel,
        inbox: Option<RunInbox>,
        token: WorkflowCancellationToken,
    ) -> Self {
        let ledgers = RefCell::default();
        Self { ctx, model, run: OnceCell::new(), session_calls: Cell::new(0), inbox, token, ledgers }
    }

    fn run(&self) -> &str {
        self.run.get_or_init(|| short_id(self.ctx.next_run_number()))
    }

    /// Tells the inbox how the run ended.
    pub(super) fn ended<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        if let Some(inbox) = &self.inbox {
            inbox.ended(outcome);
        }
    }

    fn ledger(&self, path: &str) -> Rc<RefCell<Ledger>> {
        let mut ledgers = self.ledgers.borrow_mut();
        if ledgers.len() > MOST_LEDGERS {
            // Most of them are of runs that have ended; one that has not sends its conversation once more.
            ledgers.retain(|path, _| path.is_empty());
        }
        Rc::clone(ledgers.entry(path.to_owned()).or_default())
    }
}

impl Host for WorkflowHost {
    type Scope = WorkflowCancellationToken;

    /// The loop holds the scope for as long as its effects run, and it must: an operation does not keep its token alive, and
    /// a token that is dropped hears nothing of its parent any more.
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
        let ledger = self.ledger(id.path());
        async move { self.model.call(&self.ctx, &ledger, call, activity_id, scope.clone()).await }.boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        call: ToolEffect<'a>,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<ToolAnswer, ToolEffectError>> {
        let activity_id = format!("{}-{}", self.run(), call.id);
        let (ledger, call_id) = (self.ledger(call.id.path()), call.info.call_id.clone());
        async move {
            let answer = tool_call::call(&self.ctx, call, activity_id.clone(), scope.clone()).await?;
            ledger.borrow_mut().returned(&activity_id, &call_id, &answer.output);
            Ok(answer)
        }
        .boxed_local()
    }

    fn call_session<'a>(
        &'a self,
        call: SessionEffect,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, Result<Vec<Item>, SessionEffectError>> {
        let number = self.session_calls.get();
        self.session_calls.set(number + 1);
        let activity_id = format!("{}-session-{number}", self.run());
        session_call::call(&self.ctx, call, activity_id, scope).boxed_local()
    }

    /// Waits for the workflow's inbox, if it has one; without, nobody can decide here.
    fn wait_for_decisions<'a>(
        &'a self,
        state: &'a mut RunState,
        scope: &'a Self::Scope,
    ) -> LocalBoxFuture<'a, WaitOutcome> {
        match &self.inbox {
            Some(inbox) => inbox.wait(state, scope.clone()).boxed_local(),
            None => std::future::ready(WaitOutcome::Undecided).boxed_local(),
        }
    }

    fn patched(&self, slug: &str) -> bool {
        self.ctx.patched(slug)
    }

    /// Shows in the Temporal UI, under the workflow's current details, what the run is doing; logs, once and not on replay,
    /// what neither history nor model are told.
    fn observe(&self, event: &RunEvent<'_>) {
        match event {
            RunEvent::TurnStarted { agent, turn } => {
                if let Some(inbox) = &self.inbox {
                    inbox.at_turn(agent, *turn);
                }
                self.ctx.show(format!("**{agent}** · turn {turn} · waits for the model"));
            }
            RunEvent::ToolsCalled { agent, turn, tools } => {
                self.ctx.show(format!("**{agent}** · turn {turn} · runs {}", tools.join(", ")));
            }
            RunEvent::CallRefused { call, reason } if !self.ctx.is_replaying() => {
                tracing::warn!(
                    agent = call.agent,
                    turn = call.turn,
                    tool = call.tool,
                    call_id = call.call_id,
                    reason,
                    "the model is told only that the tool call failed"
                );
            }
            RunEvent::Paused { interruptions } => {
                let calls: Vec<String> =
                    interruptions.iter().map(|call| format!("`{}` of **{}**", call.tool, call.agent)).collect();
                self.ctx.show(format!("waits for a decision on {}", calls.join(", ")));
            }
            RunEvent::CallRefused { .. } | RunEvent::ModelAnswered { .. } | RunEvent::HandedOff { .. } => {}
        }
    }
}

/// Eight characters of lower-case base 32 (40 bits), without letters that look like digits.
fn short_id(number: u64) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let digits = number.to_le_bytes();
    digits.map(|byte| char::from(ALPHABET[usize::from(byte & 31)])).iter().collect()
}
