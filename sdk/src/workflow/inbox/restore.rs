//! The inbox of the previous execution, in the next one: restored before anything else, or merged
//! into an inbox that has already received decisions.

use temporal_agents_core::wire::Carried;

use super::AgentInbox;
use crate::workflow::stream::StreamLog;

impl AgentInbox {
    /// Merges the inbox of the previous execution into this one. Decisions that have already
    /// arrived here came later, so those of the previous execution on the same ids count.
    pub(in crate::workflow) fn take_over(&mut self, before: Self) {
        let arrived = std::mem::replace(&mut self.decided, before.decided);
        for decided in arrived {
            if !self.decided.iter().any(|first| first.id == decided.id) {
                self.decided.push(decided);
            }
        }
        self.waits_for = before.waits_for;
        self.renamed = before.renamed;
        self.given_up = before.given_up;
        self.recorded = before.recorded;
        self.agent = before.agent;
        self.turn = before.turn;
        self.stream.take_over(before.stream);
    }

    /// Creates the inbox of a workflow that calls [`restore`](Self::restore) in its run method.
    pub(in crate::workflow) fn awaiting_restore() -> Self {
        Self { stream: StreamLog::awaiting_restore(), ..Self::default() }
    }

    /// Restores the inbox of the previous execution, if there is one, and publishes what has
    /// arrived for the stream since.
    pub(in crate::workflow) fn restore(&mut self, carried: Option<&Carried>) {
        let restored = carried.map(Self::of).unwrap_or_default();
        let early = std::mem::replace(self, restored);
        let before = std::mem::replace(&mut self.stream, early.stream);
        self.stream.restore(before);
    }
}
