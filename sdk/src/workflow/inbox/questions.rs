//! The questions that runs publish in the inbox, and their ids. A question is an interruption: a
//! call that waits for a decision, an output or an input.
//!
//! # Design
//! A question has the id of its call, because people and programs know calls by this id. Providers
//! may number calls in any way, however, some from 0 in each response. So a question whose id
//! already has a meaning (the question of another run, one that was decided, or one that its run
//! gave up) gets another id: `call_0#2`. An id that the inbox remembers belongs to one question,
//! and a late decision never counts for another one.

use serde::{Deserialize, Serialize};
use temporal_agents_core::{
    drive::refusal::refusal,
    wire::{AgentInterruption, Interruption, RunState, RunStatus},
};

use super::AgentInbox;

/// Maximum number of remembered ids of questions that had no decision when their run ended.
const MOST_GIVEN_UP: usize = 1000;

/// A published question of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workflow) struct Asked {
    /// Id under which the question is decided.
    pub(super) id: String,
    /// Id of the call in the run's own state.
    pub(super) own: String,
}

impl AgentInbox {
    /// Returns `true` if a run that paused with this state could continue, because one of its calls
    /// is decided. Use it in `ctx.wait_condition` after a run
    /// [until it paused](temporal_agents_core::run::RunRequest::until_paused). The run that is resumed with the
    /// state takes the decision from this inbox: from then on this returns `false`.
    ///
    /// # Determinism
    /// Safe: it records nothing in history.
    pub fn has_decisions_on(&self, paused: &RunState) -> bool {
        questions(paused).iter().any(|call| match self.published(call) {
            Some(asked) => self.is_decided(&asked.id),
            None => self.is_decided(&self.unused_id(&call.id)),
        })
    }

    /// Forgets all runs and their questions. Needed after the future of a run was dropped before
    /// its end: a dropped run cannot report its end itself.
    ///
    /// This forgets every run: another run of the workflow that waits would wait forever. If
    /// several runs are active, do not drop one, but cancel it with
    /// [`Runner::cancellation_token`](crate::Runner::cancellation_token).
    pub fn abandon_runs(&mut self) {
        let ids: Vec<String> = self.waits_for.iter().map(|call| call.id.clone()).collect();
        self.give_up(&ids);
        self.at_work = 0;
    }

    /// Marks the questions that a resumed run published when it paused, here or before
    /// continue-as-new, as those of an active run, and returns them.
    pub(super) fn take_up(&mut self, calls: &[AgentInterruption]) -> Vec<Asked> {
        let mut asked = Vec::new();
        for call in calls {
            if let Some(question) = self.published(call) {
                self.held.push(question.id.clone());
                asked.push(question);
            }
        }
        asked
    }

    /// Publishes the calls that a run waits for, withdraws its earlier questions, and returns the
    /// new ones.
    pub(super) fn wait_for(&mut self, calls: &[AgentInterruption], before: &[Asked]) -> Vec<Asked> {
        let stays = |call: &AgentInterruption| before.iter().find(|asked| asked.own == call.id);
        self.withdraw(|id| before.iter().any(|asked| asked.id == id));
        let mut asked = Vec::new();
        for call in calls {
            let id = stays(call).map_or_else(|| self.unused_id(&call.id), |asked| asked.id.clone());
            let question = Asked { id: id.clone(), own: call.id.clone() };
            if id != call.id {
                self.renamed.push(question.clone());
            }
            // Early decisions were kept without knowing the question: drop those that do not fit,
            // although their sender was answered `Kept`.
            self.decided.retain(|early| early.taken || early.id != id || refusal(call, &early.decision).is_none());
            self.held.push(id.clone());
            self.waits_for.push(AgentInterruption { id, ..call.clone() });
            asked.push(question);
        }
        asked
    }

    /// Records that a run pauses: its questions stay, and can be decided until the run is resumed.
    pub(super) fn pause(&mut self, asked: &[Asked]) {
        self.held.retain(|id| !asked.iter().any(|asked| asked.id == *id));
        self.leave(None);
    }

    /// Records that a run ends. Its open questions will not be answered.
    pub(super) fn end(&mut self, status: RunStatus, asked: &[Asked]) {
        let ids: Vec<String> = asked.iter().map(|asked| asked.id.clone()).collect();
        self.give_up(&ids);
        self.leave(Some(status));
        if self.is_over() {
            // No run has asked about these ids; a later run has other questions under the same ids.
            // A decision may arrive before the end of the run, or after it, when it is not kept:
            // the inbox must be the same in both cases.
            self.decided.retain(|decided| decided.taken);
        }
    }

    /// Counts one active run less.
    fn leave(&mut self, ended: Option<RunStatus>) {
        self.at_work = self.at_work.saturating_sub(1);
        if self.at_work == 0 {
            self.ended = ended;
            self.stream_mut().polls_mut().runs_ended();
        }
    }

    fn give_up(&mut self, ids: &[String]) {
        self.withdraw(|id| ids.iter().any(|given_up| given_up == id));
        // A decision that arrived too late for its run does not count for the next run that has a
        // call with this id.
        self.decided.retain(|decided| decided.taken || !ids.contains(&decided.id));
        let is_open = |id: &&String| !self.decided.iter().any(|decided| decided.id == **id);
        let open: Vec<String> = ids.iter().filter(is_open).cloned().collect();
        self.given_up.extend(open);
        let too_many = self.given_up.len().saturating_sub(MOST_GIVEN_UP);
        self.given_up.drain(..too_many);
    }

    /// Removes questions that no run asks any more.
    pub(super) fn withdraw(&mut self, is_withdrawn: impl Fn(&str) -> bool) {
        self.waits_for.retain(|call| !is_withdrawn(&call.id));
        self.renamed.retain(|renamed| !is_withdrawn(&renamed.id));
        self.held.retain(|id| !is_withdrawn(id));
    }

    /// Returns the question of a paused run that asks for this call. If two runs have paused with
    /// exactly the same call (also with the same id), each may take either question, because a
    /// person sees no difference between them.
    fn published(&self, call: &AgentInterruption) -> Option<Asked> {
        let is_free = |question: &&AgentInterruption| !self.held.contains(&question.id);
        self.waits_for.iter().filter(is_free).find_map(|question| {
            let renamed = self.renamed.iter().find(|renamed| renamed.id == question.id);
            let own = renamed.map_or(&question.id, |renamed| &renamed.own);
            let is_it = AgentInterruption { id: own.clone(), ..question.clone() } == *call;
            is_it.then(|| Asked { id: question.id.clone(), own: own.clone() })
        })
    }

    /// Returns an unused id for a question about the call with this id.
    fn unused_id(&self, own: &str) -> String {
        let mut id = own.to_owned();
        let mut number: u32 = 1;
        while self.means_a_question(&id) {
            number += 1;
            id = format!("{own}#{number}");
        }
        id
    }

    fn means_a_question(&self, id: &str) -> bool {
        self.waits_for.iter().any(|call| call.id == id)
            || self.decided.iter().any(|decided| decided.taken && decided.id == id)
            || self.given_up.iter().any(|given_up| given_up == id)
    }
}

/// Returns the undecided calls of a state, those inside agents that are used as tools included.
/// Each is decided by itself.
pub(super) fn questions(state: &RunState) -> Vec<AgentInterruption> {
    let question = |call: Interruption| {
        let expires_at = state.expiries.get(&call.id).map(|expiry| expiry.at);
        AgentInterruption { expires_at, ..AgentInterruption::from(call) }
    };
    state.interruptions().into_iter().map(question).collect()
}
