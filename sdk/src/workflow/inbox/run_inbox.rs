//! What a run does with its workflow's inbox: says what it waits for, waits, takes what was decided.

use std::{cell::RefCell, rc::Rc};

use futures::{FutureExt, future::LocalBoxFuture};
use temporalio_workflow::{WaitConditionOptions, WorkflowCancellationToken, WorkflowContext};

use super::AgentInbox;
use crate::{
    drive::{RunFailure, RunOutcome, WaitOutcome},
    engine::RunError,
    wire::{
        AgentInterruption, AgentStatus, DecidedInterruption, RunState, Verdict,
        run_state::{Decision, UnknownInterruption},
    },
};

/// A workflow with an inbox. `#[agent_handlers]` implements it.
#[diagnostic::on_unimplemented(
    message = "workflow `{Self}` has no inbox for decisions",
    label = "no inbox",
    note = "write `#[agent_handlers]` above `#[workflow_methods]`, and give the workflow a field `inbox: AgentInbox`"
)]
pub trait HasAgentInbox {
    /// The inbox.
    fn agent_inbox(&self) -> &AgentInbox;

    /// The inbox, to change it.
    fn agent_inbox_mut(&mut self) -> &mut AgentInbox;
}

/// What a run needs of a workflow with an inbox, without the workflow's type.
pub(in crate::workflow) trait InboxContext {
    /// Changes the inbox, and wakes who waits for it.
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox));

    /// Waits until one of these ids is decided; false when the wait was cancelled.
    fn one_is_decided(&self, ids: Vec<String>, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, bool>;
}

impl<W: HasAgentInbox + 'static> InboxContext for WorkflowContext<W> {
    fn change(&self, change: &mut dyn FnMut(&mut AgentInbox)) {
        self.state_mut(|workflow| change(workflow.agent_inbox_mut()));
    }

    fn one_is_decided(&self, ids: Vec<String>, token: WorkflowCancellationToken) -> LocalBoxFuture<'static, bool> {
        let ctx = self.clone();
        async move {
            let options = WaitConditionOptions::builder().cancellation_token(token).build();
            let decided = |workflow: &W| ids.iter().any(|id| workflow.agent_inbox().is_decided(id));
            ctx.wait_condition_with_options(decided, options).await.is_ok()
        }
        .boxed_local()
    }
}

/// What a run does while nothing is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workflow) enum Waits {
    /// It waits.
    UntilDecided,
    /// It pauses.
    NotAtAll,
}

/// The inbox as one run uses it.
pub(in crate::workflow) struct RunInbox {
    ctx: Rc<dyn InboxContext>,
    waits: Waits,
    /// What this run has said that it waits for.
    published: RefCell<Vec<String>>,
}

impl RunInbox {
    /// A run begins; `paused` is its state, where it begins with one.
    pub(in crate::workflow) fn begin(ctx: Rc<dyn InboxContext>, waits: Waits, paused: Option<&RunState>) -> Self {
        // Published by the run that paused with it, here or before continue-as-new.
        let published = paused.map(|state| state.interruptions().into_iter().map(|call| call.id).collect());
        ctx.change(&mut AgentInbox::begin);
        Self { ctx, waits, published: RefCell::new(published.unwrap_or_default()) }
    }

    /// A turn begins.
    pub(in crate::workflow) fn at_turn(&self, agent: &str, turn: u32) {
        self.ctx.change(&mut |inbox| inbox.at_turn(agent, turn));
    }

    /// Waits for decisions on the calls this state waits for, and takes them into it.
    pub(in crate::workflow) async fn wait(
        &self,
        state: &mut RunState,
        token: WorkflowCancellationToken,
    ) -> WaitOutcome {
        let calls = undecided(state);
        let ids = self.publish(&calls);
        if self.waits == Waits::UntilDecided && !ids.is_empty() && !self.ctx.one_is_decided(ids.clone(), token).await {
            return WaitOutcome::Cancelled;
        }
        let mut decided = Vec::new();
        self.ctx.change(&mut |inbox| decided = inbox.take(&ids));
        // The ids come from this very state, so that it knows them all.
        let applied = apply(state, &decided);
        if decided.is_empty() || applied.is_err() {
            return WaitOutcome::Undecided;
        }
        let open = undecided(state);
        let with_others = decided_with_others(&calls, &open, &decided);
        self.ctx.change(&mut |inbox| inbox.note(&with_others));
        // What is open still can be decided while the rest runs.
        self.publish(&open);
        WaitOutcome::Decided
    }

    /// Says that the run waits for these calls, and for none it has said before; gives their ids.
    fn publish(&self, calls: &[AgentInterruption]) -> Vec<String> {
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        let no_more = self.published.replace(ids.clone());
        self.ctx.change(&mut |inbox| inbox.wait_for(calls, &no_more));
        ids
    }

    /// The run ends.
    pub(in crate::workflow) fn ended<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        let status = match outcome {
            // What it waits for stays published: it can be decided until somebody resumes the run.
            Ok(RunOutcome::Paused(_)) => None,
            Ok(RunOutcome::Finished(_)) => Some(AgentStatus::Finished),
            Err(RunFailure { error: RunError::Cancelled { .. }, .. }) => Some(AgentStatus::Cancelled),
            Err(_) => Some(AgentStatus::Failed),
        };
        let no_more = if status.is_some() { self.published.take() } else { Vec::new() };
        self.ctx.change(&mut |inbox| {
            inbox.wait_for(&[], &no_more);
            inbox.end(status);
        });
    }
}

/// What a state waits for and nobody has decided; calls inside an agent used as a tool are decided one by one, and wait for
/// each other.
fn undecided(state: &RunState) -> Vec<AgentInterruption> {
    let is_open = |call: &crate::wire::run_state::Interruption| state.decision_on(&call.id).is_none();
    state.interruptions().into_iter().filter(is_open).map(AgentInterruption::from).collect()
}

/// The calls that wait no more because a decision for good on another call of the tool holds for them, too.
fn decided_with_others(
    calls: &[AgentInterruption],
    open: &[AgentInterruption],
    decided: &[DecidedInterruption],
) -> Vec<DecidedInterruption> {
    let call_of = |decided: &DecidedInterruption| calls.iter().find(|call| call.id == decided.id);
    let is_of_same_tool = |one: &AgentInterruption, other: &AgentInterruption| {
        one.tool == other.tool && one.server == other.server && (one.server.is_some() || one.agent == other.agent)
    };
    let waits_no_more =
        |call: &&AgentInterruption| !open.contains(*call) && !decided.iter().any(|decided| decided.id == call.id);
    let decision_for = |call: &AgentInterruption| {
        let for_good = decided.iter().rev().filter(|decided| decided.always);
        let mut of_tool = for_good.filter(|decided| call_of(decided).is_some_and(|other| is_of_same_tool(other, call)));
        of_tool.next().map(|decided| DecidedInterruption { id: call.id.clone(), ..decided.clone() })
    };
    calls.iter().filter(waits_no_more).filter_map(decision_for).collect()
}

/// Takes decisions into a state. Those for good come first: a decision on one call counts more for that call.
fn apply(state: &mut RunState, decided: &[DecidedInterruption]) -> Result<(), UnknownInterruption> {
    for decided in decided.iter().filter(|decided| decided.always) {
        state.decide_always(&decided.id, decision(&decided.decision))?;
    }
    for decided in decided {
        state.decide(&decided.id, decision(&decided.decision))?;
    }
    Ok(())
}

fn decision(verdict: &Verdict) -> Decision {
    match verdict {
        Verdict::Approve => Decision::approve(),
        Verdict::Reject { message: None } => Decision::reject(),
        Verdict::Reject { message: Some(text) } | Verdict::SupplyOutput { output: text } => Decision::reject_with(text),
    }
}
