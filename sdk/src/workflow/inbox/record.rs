//! The open questions in the workflow's memo, and the handlers of decisions, which change them.
//!
//! # Design
//! **The memo is exact.** Lists of workflows read from it who waits for people
//! (`wire/asked_questions.rs`), so it changes with the questions: a pause records them all, with the
//! run's note; the handler of a decision records those that are left, in the same workflow task; so
//! do the expiry of a question, a permanent decision on its tool, and the end of a run that leaves
//! questions. That is one event for each decision. A workflow that is closed waits for nobody,
//! whatever its memo contains.
//!
//! **The inbox knows what the memo contains,** also after continue-as-new, which leaves the memo as
//! it is. So nothing is recorded twice, and executions that record no notes (the patch
//! `temporal-agents/run-noted`) never begin to.

use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, AgentInterruption, DecisionReply, SuppliedOutput,
    asked_questions::{AskedQuestions, QUESTIONS_MEMO},
};
use temporalio_workflow::{MemoValue, SyncWorkflowContext, WorkflowContext};

use super::{AgentInbox, HasAgentInbox};

impl AgentInbox {
    /// Returns the open questions for the memo of a workflow, after a change; `None` if the memo has
    /// them already.
    pub(super) fn unrecorded(&mut self) -> Option<AskedQuestions> {
        if !self.is_stale() {
            return None;
        }
        let open: Vec<AgentInterruption> = self.undecided().cloned().collect();
        self.recorded = open.iter().map(|question| question.id.clone()).collect();
        let agent = self.agent.clone().unwrap_or_default();
        Some(AskedQuestions { is_update: true, ..AskedQuestions::new(agent, self.turn, open) })
    }

    /// Returns `true` if the memo has other open questions than the workflow.
    pub(super) fn is_stale(&self) -> bool {
        self.undecided().count() != self.recorded.len()
            || self.undecided().any(|question| !self.recorded.contains(&question.id))
    }

    /// Returns `true` if the memo has open questions.
    pub(super) fn has_recorded(&self) -> bool {
        !self.recorded.is_empty()
    }

    /// Records that a run pauses, and returns the open questions of the other runs. `own` are the
    /// ids of the run's questions.
    pub(super) fn record_pause(&mut self, own: &[String]) -> Vec<AgentInterruption> {
        self.recorded = self.undecided().map(|question| question.id.clone()).collect();
        self.undecided().filter(|question| !own.contains(&question.id)).cloned().collect()
    }

    /// Handles the update that decides, and returns the reply, with the open questions for the memo
    /// if they have changed.
    fn answer(&mut self, decision: AgentDecision) -> (DecisionReply, Option<AskedQuestions>) {
        let reply = self.decide(decision).into();
        (reply, self.has_recorded().then(|| self.unrecorded()).flatten())
    }
}

/// Handles the update that decides about a call.
pub fn agent_decide<W: HasAgentInbox>(
    workflow: &mut W,
    ctx: &SyncWorkflowContext<W>,
    decision: AgentDecision,
) -> DecisionReply {
    let (reply, asked) = workflow.agent_inbox_mut().answer(decision);
    if let Some(asked) = asked {
        // A converter that does not take JSON has recorded no questions either.
        let _ = ctx.upsert_memo(fields(&asked));
    }
    reply
}

/// Handles the update that supplies the output of a call.
pub fn agent_supply_output<W: HasAgentInbox>(
    workflow: &mut W,
    ctx: &SyncWorkflowContext<W>,
    supplied: SuppliedOutput,
) -> DecisionReply {
    agent_decide(workflow, ctx, supplied.into())
}

/// Decides about a call in an asynchronous handler, see [`agent_decide`].
pub(in crate::workflow) fn decide<W: HasAgentInbox>(
    ctx: &WorkflowContext<W>,
    decision: AgentDecision,
) -> DecisionReply {
    let (reply, asked) = ctx.state_mut(|workflow| workflow.agent_inbox_mut().answer(decision));
    if let Some(asked) = asked {
        let _ = ctx.upsert_memo(fields(&asked));
    }
    reply
}

/// Returns the field of the memo.
fn fields(asked: &AskedQuestions) -> Option<(&'static str, Option<MemoValue>)> {
    let asked: Value = serde_json::to_value(asked).ok()?;
    Some((QUESTIONS_MEMO, Some(MemoValue::new(asked))))
}

#[cfg(test)]
mod tests;
