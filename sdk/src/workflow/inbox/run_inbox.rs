//! The use of a workflow's inbox by a run: publishes what the run waits for, waits, takes the
//! decisions.
//!
//! # Design
//! **A pause is recorded in its own task.** For a workflow that is not in a worker's cache,
//! Temporal's core may deliver a workflow task without commands and the update after it together;
//! on replay it delivers them one after the other. A decision would then come before the pause in
//! the original execution, and after it on replay. So a run that pauses upserts the memo
//! `agents.questions`: a task with a command is never delivered together with the next one.
//! Histories from before the patch `temporal-agents/questions-recorded` have no such record.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use serde_json::Value;
use temporal_agents_core::{
    drive::{RunFailure, RunOutcome, Stays, WaitOutcome},
    engine::RunError,
    wire::{
        AgentDecision, AgentInterruption, DecidedInterruption, DecisionAnswer, RunState, RunStatus, Verdict,
        asked_questions::AskedQuestions,
        run_state::{Decision, Expiry},
    },
};
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    InboxContext,
    questions::{Asked, questions},
};
use crate::workflow::limits::size::{MOST_BYTES, encoded_len};

/// The one who decides about a question that has expired.
const EXPIRED: &str = "expired";

/// The behavior of a run while it has no decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// The run waits for decisions.
    UntilDecided,
    /// The run pauses.
    NotAtAll,
}

/// The inbox as used by one run.
pub(crate) struct RunInbox {
    ctx: Rc<dyn InboxContext>,
    waits: Waits,
    /// Questions that this run has published.
    asked: RefCell<Vec<Asked>>,
    /// Number of decisions that ended the latest wait.
    taken: Cell<usize>,
    /// `true` if the latest wait ended so that the run leaves this execution.
    left_to_continue: Cell<bool>,
}

impl RunInbox {
    /// Registers a run that begins; `paused` is its state, if it begins with one.
    pub(crate) fn begin(ctx: Rc<dyn InboxContext>, waits: Waits, paused: Option<&RunState>) -> Self {
        let calls = paused.map(questions).unwrap_or_default();
        let mut asked = Vec::new();
        ctx.change(&mut |inbox| {
            inbox.begin();
            asked = inbox.take_up(&calls);
        });
        Self { ctx, waits, asked: RefCell::new(asked), taken: Cell::default(), left_to_continue: Cell::default() }
    }

    /// Returns `true` if the run waits here for decisions that are missing.
    pub(in crate::workflow) fn waits(&self) -> bool {
        self.waits == Waits::UntilDecided
    }

    /// Publishes what the run waits for in this state, if anything.
    pub(in crate::workflow) fn publish(&self, state: &RunState) {
        self.ask(&questions(state));
    }

    /// Returns `true` if no other run of this inbox is active.
    pub(in crate::workflow) fn is_alone(&self) -> bool {
        let mut at_work = 0;
        self.ctx.look(&mut |inbox| at_work = inbox.at_work);
        at_work <= 1
    }

    /// Returns `true` if the inbox, with the questions of this state, fits into the input of the
    /// next execution.
    pub(in crate::workflow) fn can_be_carried(&self, state: &RunState) -> bool {
        let fits = |bytes: Result<usize, serde_json::Error>| bytes.is_ok_and(|bytes| bytes <= MOST_BYTES);
        fits(encoded_len(&questions(state))) && fits(self.carried().and_then(|inbox| encoded_len(&inbox)))
    }

    /// Returns the inbox for the next execution of the workflow, as JSON.
    pub(in crate::workflow) fn carried(&self) -> Result<Value, serde_json::Error> {
        let mut carried = Ok(Value::Null);
        self.ctx.look(&mut |inbox| carried = serde_json::to_value(inbox));
        carried
    }

    /// Records that the run pauses for these questions, and returns the open questions of the other
    /// runs.
    pub(in crate::workflow) fn record_pause(&self, own: &[AgentInterruption]) -> Vec<AgentInterruption> {
        let ids: Vec<String> = own.iter().map(|question| question.id.clone()).collect();
        let mut others = Vec::new();
        self.ctx.change(&mut |inbox| others = inbox.record_pause(&ids));
        others
    }

    /// Returns `true` if the memo of the workflow has other open questions than the workflow.
    pub(in crate::workflow) fn is_stale(&self) -> bool {
        let mut is_stale = false;
        self.ctx.look(&mut |inbox| is_stale = inbox.is_stale());
        is_stale
    }

    /// Returns the open questions for the memo of the workflow; `None` if the memo has them already.
    pub(in crate::workflow) fn unrecorded(&self) -> Option<AskedQuestions> {
        let mut asked = None;
        self.ctx.change(&mut |inbox| asked = inbox.unrecorded());
        asked
    }

    /// Records that a turn begins.
    pub(crate) fn at_turn(&self, agent: &str, turn: u32) {
        self.ctx.change(&mut |inbox| inbox.at_turn(agent, turn));
    }

    /// Records that a model has answered the outermost run: the stream drops the events of earlier
    /// turns.
    pub(in crate::workflow) fn answered(&self) {
        let mut is_unused = true;
        self.ctx.look(&mut |inbox| is_unused = inbox.stream().is_unused());
        // A change wakes everything in the workflow that waits.
        if is_unused {
            return;
        }
        let is_alone = self.is_alone();
        self.ctx.change(&mut |inbox| inbox.stream_mut().answered(is_alone));
    }

    /// Lets the polls of the stream return at once, while the run leaves this execution.
    pub(in crate::workflow) fn drain_stream(&self) {
        self.ctx.change(&mut |inbox| inbox.stream_mut().polls_mut().drain());
    }

    /// Lets the polls of the stream wait again, because the run stays in this execution.
    pub(in crate::workflow) fn reopen_stream(&self) {
        self.ctx.change(&mut |inbox| inbox.stream_mut().polls_mut().reopen());
    }

    /// Returns the number of polls of the stream in this execution.
    pub(in crate::workflow) fn polls(&self) -> u32 {
        let mut polls = 0;
        self.ctx.look(&mut |inbox| polls = inbox.stream().polls().total());
        polls
    }

    /// Returns `true` if a poll of the stream has no result yet.
    pub(in crate::workflow) fn has_unanswered_polls(&self) -> bool {
        let mut has_unanswered = false;
        self.ctx.look(&mut |inbox| has_unanswered = inbox.stream().polls().has_unanswered());
        has_unanswered
    }

    /// Waits for decisions on the calls that this state waits for, and applies them to the state.
    /// Calls `pauses` with the questions whenever none of them is decided yet. Ends without a
    /// decision once the stream has had `max_polls` polls, unless the wait before has ended so.
    pub(crate) async fn wait(
        &self,
        state: &mut RunState,
        max_polls: Option<u32>,
        token: WorkflowCancellationToken,
        pauses: impl Fn(Vec<AgentInterruption>),
    ) -> WaitOutcome {
        // A run that could not leave continues to wait, however many polls come, and its pause is
        // recorded.
        let has_stayed = self.left_to_continue.take();
        let max_polls = max_polls.filter(|_| !has_stayed);
        let mut is_recorded = has_stayed;
        loop {
            let calls = questions(state);
            let asked = self.ask(&calls);
            let ids: Vec<String> = asked.iter().map(|asked| asked.id.clone()).collect();
            if !self.one_is_decided(&ids) && !std::mem::take(&mut is_recorded) {
                pauses(under_ids(&calls, &asked));
            }
            let waits = self.waits == Waits::UntilDecided && !ids.is_empty();
            if waits && !self.ctx.wait_until_decided(ids.clone(), max_polls, token.clone()).await {
                return WaitOutcome::Cancelled;
            }
            if waits && max_polls.is_some() && !self.one_is_decided(&ids) {
                self.left_to_continue.set(true);
                return WaitOutcome::ContinuesElsewhere;
            }
            let mut arrived = Vec::new();
            self.ctx.change(&mut |inbox| arrived = inbox.take(&ids));
            let decided = self.apply(state, &asked, arrived);
            if decided.is_empty() {
                if waits {
                    continue;
                }
                return WaitOutcome::Undecided;
            }
            self.taken.set(decided.len());
            let open = questions(state);
            let mut with_others = decided_with_others(&calls, &open, &decided);
            for decided in &mut with_others {
                rename(decided, &asked, |asked| (&asked.own, &asked.id));
            }
            self.ctx.change(&mut |inbox| inbox.note(&with_others));
            // Open questions can still be decided while the rest runs.
            self.ask(&open);
            return WaitOutcome::Decided;
        }
    }

    /// Returns the time at which the first of the run's open questions expires, in milliseconds
    /// since the Unix epoch.
    pub(crate) fn next_expiry(&self, expiries: &BTreeMap<String, Expiry>) -> Option<u64> {
        let asked = self.asked.borrow();
        let times = expiries.iter().filter(|(own, _)| asked.iter().any(|asked| asked.own == **own));
        times.map(|(_, expiry)| expiry.at).min()
    }

    /// Decides the questions that have expired, and returns the decisions, under the inbox's ids.
    pub(crate) fn expire(&self, expiries: &BTreeMap<String, Expiry>, now: u64) -> Vec<(String, Decision)> {
        let asked = self.asked.borrow().clone();
        let due =
            asked.iter().filter_map(|asked| Some((asked, expiries.get(&asked.own).filter(|expiry| expiry.at <= now)?)));
        let mut expired = Vec::new();
        for (asked, expiry) in due {
            let decision = expiry.decision.clone();
            let mut counts = false;
            for decision in [decision, Decision::reject()] {
                let mut decision = decision;
                decision.by = Some(EXPIRED.to_owned());
                let decided = AgentDecision::new(&*asked.id, decision.clone().into()).by(EXPIRED);
                self.ctx.change(&mut |inbox| counts = inbox.decide(decided.clone()) == DecisionAnswer::Accepted);
                if counts {
                    expired.push((asked.id.clone(), decision));
                    break;
                }
            }
        }
        expired
    }

    /// Returns the number of decisions that ended the latest wait.
    pub(in crate::workflow) fn last_decision_count(&self) -> usize {
        self.taken.get()
    }

    fn one_is_decided(&self, ids: &[String]) -> bool {
        let mut is_decided = false;
        self.ctx.look(&mut |inbox| is_decided = ids.iter().any(|id| inbox.is_decided(id)));
        is_decided
    }

    /// Applies decisions to the state, and returns those that the state accepted, under the run's
    /// own ids. A decision that the state refuses counts as not made, so that its question can be
    /// decided again.
    fn apply(
        &self,
        state: &mut RunState,
        asked: &[Asked],
        mut taken: Vec<DecidedInterruption>,
    ) -> Vec<DecidedInterruption> {
        for decided in &mut taken {
            rename(decided, asked, |asked| (&asked.id, &asked.own));
        }
        let refused = apply(state, &taken);
        for own in &refused {
            let id = asked.iter().find(|asked| asked.own == *own).map_or(own, |asked| &asked.id);
            self.ctx.change(&mut |inbox| inbox.take_back(id));
        }
        taken.retain(|decided| !refused.contains(&decided.id));
        taken
    }

    /// Publishes that the run waits for these calls and for no others, and returns the questions.
    fn ask(&self, calls: &[AgentInterruption]) -> Vec<Asked> {
        let before = self.asked.take();
        let mut asked = Vec::new();
        self.ctx.change(&mut |inbox| asked = inbox.wait_for(calls, &before));
        self.asked.replace(asked.clone());
        asked
    }

    /// Records that the run ends.
    pub(crate) fn ended<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        let status = match outcome {
            Ok(RunOutcome::Paused(_)) | Err(RunFailure { error: RunError::ContinuesAsNew { .. }, .. }) => None,
            Ok(RunOutcome::Finished(_)) => Some(RunStatus::Completed),
            Err(RunFailure { error, .. }) if Stays::is_source_of(error) => None,
            Err(RunFailure { error: RunError::Cancelled { .. }, .. }) => Some(RunStatus::Cancelled),
            Err(_) => Some(RunStatus::Failed),
        };
        let asked = self.asked.take();
        self.ctx.change(&mut |inbox| match status {
            None => inbox.pause(&asked),
            Some(status) => inbox.end(status, &asked),
        });
    }
}

/// Replaces the inbox's id of a question with the run's own id, or vice versa.
fn rename(decided: &mut DecidedInterruption, asked: &[Asked], ids: impl Fn(&Asked) -> (&String, &String)) {
    let renamed = asked.iter().map(ids).find(|(from, _)| **from == decided.id);
    if let Some((_, to)) = renamed {
        decided.id.clone_from(to);
    }
}

/// Returns the calls that no longer wait because a permanent decision on another call of the tool
/// also holds for them.
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
        let decided = of_tool.next()?.clone();
        // Other arguments are those of one call.
        let decision = match decided.decision {
            Verdict::ApproveWith { .. } => Verdict::Approve,
            decision => decision,
        };
        Some(DecidedInterruption { id: call.id.clone(), decision, ..decided })
    };
    calls.iter().filter(waits_no_more).filter_map(decision_for).collect()
}

/// Returns the questions with the ids under which they are decided.
fn under_ids(calls: &[AgentInterruption], asked: &[Asked]) -> Vec<AgentInterruption> {
    let renamed = |call: &AgentInterruption| {
        let id = asked.iter().find(|asked| asked.own == call.id).map_or(&call.id, |asked| &asked.id);
        AgentInterruption { id: id.clone(), ..call.clone() }
    };
    calls.iter().map(renamed).collect()
}

/// Applies decisions to a state, and returns the ids of those that the state refuses. Permanent
/// decisions are applied first, because a decision on one call takes precedence for that call.
fn apply(state: &mut RunState, decided: &[DecidedInterruption]) -> Vec<String> {
    let mut refused = Vec::new();
    for decided in decided.iter().filter(|decided| decided.always) {
        if state.decide_always(&decided.id, decision(decided)).is_err() {
            refused.push(decided.id.clone());
        }
    }
    for decided in decided {
        if !refused.contains(&decided.id) && state.decide(&decided.id, decision(decided)).is_err() {
            refused.push(decided.id.clone());
        }
    }
    refused
}

fn decision(decided: &DecidedInterruption) -> Decision {
    let decision = match &decided.decision {
        Verdict::Approve => Decision::approve(),
        Verdict::ApproveWith { arguments } => Decision::approve_with(arguments.clone()),
        Verdict::Reject { message: None } => Decision::reject(),
        Verdict::Reject { message: Some(text) } => Decision::reject_with(text),
        Verdict::SupplyOutput { output } => Decision::supply(output),
    };
    Decision { by: decided.by.clone(), ..decision }
}

#[cfg(test)]
mod tests;
