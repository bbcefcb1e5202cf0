//! What a run has put into history since it began in this execution of its workflow.
//!
//! What the context says of history (its length, the server's suggestion) is read where a command is about to be given, and nowhere
//! else. On replay a worker may be given the news of several workflow tasks at once, where none of them but the last has led to
//! commands; in one that has, history is as long as it was.
//!
//! What counts, and how much, decides when a workflow continues as new: a change here is a change of a rule (see CONTRIBUTING.md). So
//! content is counted, and not the words of the messages around it.
//!
//! It is counted twice. The first rule left out what reaches history inside of requests to models (outputs of client tools, inline tools and
//! agents, definitions), decisions, what workflow tools start, and updates, of which the server admits so many. The second counts all of
//! that, too, and each of it as often as history has it. Where only the second says that it is enough, the patch [`COUNTS_ALL`] decides: a history from before it has gone on there.
//!
//! # Design
//! **New content is counted, not the length of the history.** A run that begins with 16 MiB does
//! not continue at once. The server's suggestion looks at the whole history, so it is followed only
//! after 2,000 new events, or as much new content as the run began with. A run calls a model once
//! in each execution at least, however small the limits. Model calls as local activities count by
//! their bytes.

use super::options::ContinueOptions;
use crate::workflow::context::DurableContext;

/// The patch of runs that count everything that history holds. Asked for only where it makes a difference, so that most histories have no marker.
pub(super) const COUNTS_ALL: &str = "temporal-agents/everything-counts-for-continue-as-new";

/// What is new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Pace {
    /// The length of the history at the first command of the run, and at the latest.
    events: Option<(u32, u32)>,
    suggested: bool,
    /// By the first rule.
    bytes: usize,
    /// All that history holds.
    all_bytes: usize,
    /// The size of the state the run began with.
    carried: usize,
    /// How much of it is still to be sent to models once more, because it came in the input and history has no call with it: that is not new.
    sent_again: usize,
    /// The runs that have begun, and the decisions that runs have waited for: most came as updates.
    updates: u32,
    has_called_a_model: bool,
}

impl Pace {
    /// Of a run that goes on from a state of so many bytes, so many of which are to be sent once more.
    pub(super) fn after(carried: usize, sent_again: usize) -> Self {
        Self { carried, sent_again, ..Self::default() }
    }

    /// Of a run that begins beside or after others, with what the execution has brought along.
    pub(super) fn anew(&self) -> Self {
        Self::after(self.carried, self.sent_again)
    }

    /// An activity is about to be scheduled.
    pub(in crate::workflow) fn command(&mut self, ctx: &dyn DurableContext) {
        let now = ctx.history_length();
        let first = self.events.map_or(now, |(first, _)| first);
        self.events = Some((first, now));
        self.suggested = ctx.continue_as_new_suggested();
    }

    /// A run has begun, or has the decision that it has waited for. Counted where the run takes it, and not where it arrives: that does not
    /// depend on how updates come together in workflow tasks.
    pub(in crate::workflow) fn update(&mut self) {
        self.updates = self.updates.saturating_add(1);
    }

    /// A model is about to be called, and is given so much that is new. By the second rule it counts with the request that holds it.
    pub(in crate::workflow) fn model_call(&mut self, bytes: usize) {
        self.has_called_a_model = true;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// History gets so much content.
    pub(in crate::workflow) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.add_more(bytes);
    }

    /// History gets so much content that the first rule does not see.
    pub(in crate::workflow) fn add_more(&mut self, bytes: usize) {
        self.all_bytes = self.all_bytes.saturating_add(bytes);
    }

    /// A request puts so much into history.
    pub(in crate::workflow) fn sent(&mut self, bytes: usize) {
        let again = bytes.min(self.sent_again);
        self.sent_again -= again;
        self.add_more(bytes - again);
    }

    /// Whether that is enough. It never is before the run has done something here. `counts_all` is asked where it is the second rule that says so.
    pub(super) fn is_enough(&self, options: &ContinueOptions, counts_all: impl FnOnce() -> bool) -> bool {
        let events = self.events.map_or(0, |(first, latest)| latest.saturating_sub(first));
        let is_enough = |bytes: usize| {
            let is_worth_it = || events >= options.suggested_after_events || bytes >= self.carried;
            events >= options.new_events || bytes >= options.new_bytes || (self.suggested && is_worth_it())
        };
        let is_enough_of_all = || is_enough(self.all_bytes) || self.updates >= options.new_updates;
        self.has_called_a_model && (is_enough(self.bytes) || (is_enough_of_all() && counts_all()))
    }
}

#[cfg(test)]
mod tests;
