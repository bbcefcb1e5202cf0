//! The items of a state, in a fixed order.

use super::{CallProgress, Phase, RunState, ToolRound};
use crate::wire::Item;

impl RunState {
    /// Returns all conversation items that the state contains: the input, the run's items, the
    /// items that replace them after a rewrite, the input that the session does not have yet, and
    /// then all items of each paused nested run, in call order.
    ///
    /// # Determinism
    /// The order is a part of the contract: an index in this list identifies the same item wherever
    /// the same state is read.
    pub fn items_in_order(&self) -> Vec<&Item> {
        let mut items = Vec::new();
        self.collect_items(&mut items);
        items
    }

    fn collect_items<'s>(&'s self, items: &mut Vec<&'s Item>) {
        items.extend(&self.input);
        items.extend(self.items.iter().map(|item| &item.raw));
        items.extend(self.rewritten.iter().flat_map(|rewritten| &rewritten.items).map(|item| &item.raw));
        items.extend(self.session.iter().flat_map(|session| &session.input));
        for run in round(&self.phase).into_iter().flat_map(|round| &round.calls).filter_map(paused) {
            run.collect_items(items);
        }
    }
}

fn round(phase: &Phase) -> Option<&ToolRound> {
    match phase {
        Phase::ToolsDue { round }
        | Phase::Interrupted { round }
        | Phase::ResumeDue { round }
        | Phase::McpDue { round }
        | Phase::ToolUseDue { round } => Some(round),
        Phase::TurnDue
        | Phase::ModelDue { .. }
        | Phase::HandoffDue { .. }
        | Phase::RewriteDue { .. }
        | Phase::OutputDue { .. }
        | Phase::ErrorDue { .. }
        | Phase::FinalDue { .. }
        | Phase::Finished { .. }
        | Phase::Failed { .. } => None,
    }
}

fn paused(call: &super::RoundCall) -> Option<&RunState> {
    match &call.progress {
        CallProgress::Paused { run, .. } => Some(run),
        CallProgress::Due
        | CallProgress::NeedsApproval
        | CallProgress::NeedsOutput
        | CallProgress::NeedsInput { .. }
        | CallProgress::Done { .. } => None,
    }
}
