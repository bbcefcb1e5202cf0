//! The approval requests and their decisions: from the memos that a pause and an expiry record, and
//! from the updates that decide.

use std::collections::BTreeMap;

use temporal_agents_core::wire::{AgentDecision, DecisionReply, asked_questions::AskedQuestions, event::NotedDecision};

use super::shape::{Approval, Run};
use crate::events::call_id_of;

/// The approval requests of a history, each with the decision that took effect.
#[derive(Debug, Default)]
pub(super) struct Approvals {
    /// The approval requests, in the order in which they occur in history.
    found: Vec<Approval>,
    /// Decisions without a reply so far, by the id of the event that accepted the update.
    sent: BTreeMap<i64, (Option<String>, AgentDecision)>,
}

impl Approvals {
    /// Records the approval requests with which a run pauses.
    pub(super) fn asked(&mut self, at: Option<&String>, questions: AskedQuestions) {
        for question in questions.questions {
            let approval = self.on(question.id);
            if approval.asked_at.is_none() {
                approval.asked_at = at.cloned();
            }
        }
    }

    /// Records the decisions on questions that have expired.
    pub(super) fn expired(&mut self, at: Option<&String>, decisions: Vec<NotedDecision>) {
        for NotedDecision { id, decision, by } in decisions {
            let approval = self.on(id);
            if approval.decision.is_none() {
                (approval.decision, approval.decided_at, approval.by) = (Some(decision), at.cloned(), by);
            }
        }
    }

    /// Records a decision that was sent.
    pub(super) fn sent(&mut self, event: i64, at: Option<String>, decision: AgentDecision) {
        self.sent.insert(event, (at, decision));
    }

    /// Records the reply to a decision. A decision that has no effect, because another one was
    /// first, is left out.
    pub(super) fn answered(&mut self, event: i64, reply: &DecisionReply) {
        let Some((at, decision)) = self.sent.remove(&event) else { return };
        if !reply.answer.counts() {
            return;
        }
        let AgentDecision { version: _, interruption_id, decision, always, by } = decision;
        let approval = self.on(interruption_id);
        // A decision that was sent twice counts once.
        if approval.decision.is_none() {
            (approval.decision, approval.decided_at, approval.always, approval.by) = (Some(decision), at, always, by);
        }
    }

    fn on(&mut self, id: String) -> &mut Approval {
        let place = self.found.iter().position(|approval| approval.id == id).unwrap_or_else(|| {
            let (asked_at, decided_at, decision, by) = (None, None, None, None);
            self.found.push(Approval { id, asked_at, decided_at, decision, always: false, by });
            self.found.len() - 1
        });
        &mut self.found[place]
    }

    /// Assigns each approval request to its call, and returns those whose call is not in this
    /// history.
    pub(super) fn assign_to_calls(self, runs: &mut [Run]) -> Vec<Approval> {
        let mut left = Vec::new();
        for approval in self.found {
            let call_id = call_id_of(&approval.id);
            let tools = runs.iter_mut().flat_map(|run| &mut run.turns).flat_map(|turn| &mut turn.tools);
            match tools.into_iter().find(|tool| tool.call_id == call_id && tool.approval.is_none()) {
                Some(tool) => tool.approval = Some(approval),
                None => left.push(approval),
            }
        }
        left
    }
}
