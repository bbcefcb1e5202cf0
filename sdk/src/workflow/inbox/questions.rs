//! What runs ask for in the inbox, and under which ids.
//!
//! # Design
//! A question has the id of its call, because people and programs know calls by it. Providers number calls as they like, though,
//! some from 0 in each answer. So a question whose id has a meaning already, as the question of another run, as one that was
//! decided, or as one that its run gave up, gets another one: `call_0#2`. An id that the inbox remembers means one question, and a
//! decision that is late never counts for another.

use serde::{Deserialize, Serialize};

use super::{AgentInbox, refusal};
use crate::wire::{AgentInterruption, AgentStatus, RunState};

/// Most ids that are remembered of questions nobody has answered.
const MOST_GIVEN_UP: usize = 1000;

/// A question of a run, published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::workflow) struct Asked {
    /// What to decide by.
    pub(super) id: String,
    /// The id in the run's own state.
    pub(super) own: String,
}

impl AgentInbox {
    /// Whether a run that paused with this state could go on: one of its calls is decided. For `ctx.wait_condition` after
    /// [`Runner::run_until_paused`](crate::Runner::run_until_paused) or
    /// [`Runner::resume_until_paused`](crate::Runner::resume_until_paused), which then takes the decision: this is true no more.
    ///
    /// # Determinism
    /// Safe, also as the first thing a history does.
    pub fn has_decisions_on(&self, paused: &RunState) -> bool {
        questions(paused).iter().any(|call| match self.published(call) {
            Some(asked) => self.is_decided(&asked.id),
            None => self.is_decided(&self.free_id(&call.id)),
        })
    }

    /// Forgets the runs and what they ask for: for a run whose future was dropped before its end, which cannot say so itself.
    ///
    /// All of them: another run of the workflow that waits would wait for ever. Where several are at work, do not drop one, but
    /// cancel it with [`Runner::cancellation_token`](crate::Runner::cancellation_token).
    pub fn forget_runs(&mut self) {
        let ids: Vec<String> = self.waits_for.iter().map(|call| call.id.clone()).collect();
        self.give_up(&ids);
        self.at_work = 0;
    }

    /// What a run that goes on has published when it paused, here or before continue-as-new.
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

    /// A run waits for these calls, and not for others it has asked for before; gives the questions.
    pub(super) fn wait_for(&mut self, calls: &[AgentInterruption], before: &[Asked]) -> Vec<Asked> {
        let stays = |call: &AgentInterruption| before.iter().find(|asked| asked.own == call.id);
        self.withdraw(|id| before.iter().any(|asked| asked.id == id));
        let mut asked = Vec::new();
        for call in calls {
            let id = stays(call).map_or_else(|| self.free_id(&call.id), |asked| asked.id.clone());
            let question = Asked { id: id.clone(), own: call.id.clone() };
            if id != call.id {
                self.renamed.push(question.clone());
            }
            // What came early was kept without knowing what the question would be.
            self.decided.retain(|early| early.taken || early.id != id || refusal(call, &early.decision).is_none());
            self.held.push(id.clone());
            self.waits_for.push(AgentInterruption { id, ..call.clone() });
            asked.push(question);
        }
        asked
    }

    /// A run pauses: what it asks for stays, to be decided until somebody resumes it.
    pub(super) fn pause(&mut self, asked: &[Asked]) {
        self.held.retain(|id| !asked.iter().any(|asked| asked.id == *id));
        self.leave(None);
    }

    /// A run ends. Nobody will take what it asked for.
    pub(super) fn end(&mut self, status: AgentStatus, asked: &[Asked]) {
        let ids: Vec<String> = asked.iter().map(|asked| asked.id.clone()).collect();
        self.give_up(&ids);
        self.leave(Some(status));
        if self.is_over() {
            // No run has asked for these; one that comes later has other questions under the same ids. A worker may be given them before
            // the end or after it, where they are not kept, and the inbox must be the same.
            self.decided.retain(|decided| decided.taken);
        }
    }

    fn leave(&mut self, ended: Option<AgentStatus>) {
        self.at_work = self.at_work.saturating_sub(1);
        if self.at_work == 0 {
            self.ended = ended;
        }
    }

    fn give_up(&mut self, ids: &[String]) {
        self.withdraw(|id| ids.iter().any(|given_up| given_up == id));
        // A decision that came too late for its run is not one for the next that has a call of this id.
        self.decided.retain(|decided| decided.taken || !ids.contains(&decided.id));
        let is_open = |id: &&String| !self.decided.iter().any(|decided| decided.id == **id);
        let open: Vec<String> = ids.iter().filter(is_open).cloned().collect();
        self.given_up.extend(open);
        let too_many = self.given_up.len().saturating_sub(MOST_GIVEN_UP);
        self.given_up.drain(..too_many);
    }

    /// Nobody asks for these any more.
    pub(super) fn withdraw(&mut self, is_withdrawn: impl Fn(&str) -> bool) {
        self.waits_for.retain(|call| !is_withdrawn(&call.id));
        self.renamed.retain(|renamed| !is_withdrawn(&renamed.id));
        self.held.retain(|id| !is_withdrawn(id));
    }

    /// The question of a paused run that asks for this call. Two runs may have paused with the very same call; then either
    /// question is as good.
    fn published(&self, call: &AgentInterruption) -> Option<Asked> {
        let is_free = |question: &&AgentInterruption| !self.held.contains(&question.id);
        self.waits_for.iter().filter(is_free).find_map(|question| {
            let renamed = self.renamed.iter().find(|renamed| renamed.id == question.id);
            let own = renamed.map_or(&question.id, |renamed| &renamed.own);
            let is_it = AgentInterruption { id: own.clone(), ..question.clone() } == *call;
            is_it.then(|| Asked { id: question.id.clone(), own: own.clone() })
        })
    }

    /// The id for a question about the call with this one.
    fn free_id(&self, own: &str) -> String {
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

/// The calls of a state that nobody has decided; calls inside an agent used as a tool are decided one by one, and wait for each
/// other.
pub(super) fn questions(state: &RunState) -> Vec<AgentInterruption> {
    state.interruptions().into_iter().map(AgentInterruption::from).collect()
}
