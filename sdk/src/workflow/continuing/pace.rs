//! Measures what a run has put into history since it began in this execution of its workflow.
//!
//! The context's properties of history (its length, the server's suggestion) are read only where a
//! command is about to be scheduled. On replay, a worker may receive the events of several workflow
//! tasks at once if none of them except the last has produced commands; in a task that has produced
//! commands, history is as long as it was originally.
//!
//! The rules for what counts, and how much, decide when a workflow continues as new: a change here
//! is a change of a rule (see CONTRIBUTING.md). So only content is counted, and not the encoding of
//! the messages around it.
//!
//! Content is counted by two rules. The first rule left out content that reaches history inside of
//! requests to models (outputs of client tools, inline tools and agents, definitions), decisions,
//! what workflow tools start, and updates, of which the server admits a limited number. The second
//! rule also counts all of that, as often as history holds it. Where only the second rule says that
//! it is enough, the patch [`PATCH_COUNT_EVERYTHING`] decides: the run continued in the same
//! execution in histories that were recorded before the patch.
//!
//! Definitions (instructions, tools, schemas) count as a fixed part of `new_bytes` each time they
//! are sent, up to their share of a request. Authors edit them while runs are open, and a deploy
//! must not make an open run continue as new at another turn than its history says.
//!
//! # Design
//! **New content is counted, not the length of the history.** A run that begins with 16 MiB does
//! not continue as new at once. The server's suggestion considers the whole history, so it is
//! followed only after 2,000 new events, or after as much new content as the run began with. A run
//! calls a model at least once in each execution, however small the limits. Model calls as local
//! activities count by their bytes.

use super::options::ContinueOptions;
use crate::workflow::context::DurableContext;

/// The patch of runs that count everything that history holds. Only evaluated where it makes a
/// difference, so that most histories have no marker.
pub(super) const PATCH_COUNT_EVERYTHING: &str = "temporal-agents/everything-counts-for-continue-as-new";

/// Number of requests with definitions that are enough for an execution. With 400 kB each, the
/// largest share of a request, history then holds 32 MB of definitions.
const MAX_DEFINITIONS_SENT: usize = 80;

/// Counters of the content that is new in history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Pace {
    /// Length of the history at the first and at the latest command of the run.
    events: Option<(u32, u32)>,
    suggested: bool,
    /// New bytes by the first rule.
    bytes: usize,
    /// New bytes by the second rule: everything that history holds.
    all_bytes: usize,
    /// Size in bytes of the state that the run began with.
    carried: usize,
    /// Bytes of that state that still have to be sent to models again, because the state came in
    /// the input and history has no call with it; they are not new.
    sent_again: usize,
    /// Number of runs that have begun, and of decisions that runs have waited for: most came as
    /// updates.
    updates: u32,
    has_called_a_model: bool,
}

impl Pace {
    /// Creates the counters of a run that continues from a state of `carried` bytes, of which
    /// `sent_again` bytes have to be sent to models again.
    pub(super) fn after(carried: usize, sent_again: usize) -> Self {
        Self { carried, sent_again, ..Self::default() }
    }

    /// Creates the counters of another run in this execution, with the state that the execution
    /// received.
    pub(super) fn anew(&self) -> Self {
        Self::after(self.carried, self.sent_again)
    }

    /// Records that an activity is about to be scheduled.
    pub(in crate::workflow) fn command(&mut self, ctx: &dyn DurableContext) {
        let now = ctx.history_length();
        let first = self.events.map_or(now, |(first, _)| first);
        self.events = Some((first, now));
        self.suggested = ctx.continue_as_new_suggested();
    }

    /// Records that a run has begun, or has received a decision that it waited for. Counted where
    /// the run consumes it, and not where it arrives: that does not depend on how updates are
    /// distributed over workflow tasks.
    pub(in crate::workflow) fn update(&mut self) {
        self.updates = self.updates.saturating_add(1);
    }

    /// Returns the number of polls of the workflow's stream that are enough for this execution: the
    /// server counts them as updates.
    pub(super) fn polls_until_enough(&self, options: &ContinueOptions) -> u32 {
        options.max_new_updates.saturating_sub(self.updates).max(1)
    }

    /// Records that a model is about to be called, with `bytes` bytes of new content. By the second
    /// rule the content counts with the request that holds it.
    pub(in crate::workflow) fn model_call(&mut self, bytes: usize) {
        self.has_called_a_model = true;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Records `bytes` bytes of content that are put into history.
    pub(in crate::workflow) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.add_more(bytes);
    }

    /// Records `bytes` bytes of content in history that the first rule does not count.
    pub(in crate::workflow) fn add_more(&mut self, bytes: usize) {
        self.all_bytes = self.all_bytes.saturating_add(bytes);
    }

    /// Records that a request to a model puts `bytes` bytes into history.
    pub(in crate::workflow) fn sent(&mut self, bytes: usize) {
        let again = bytes.min(self.sent_again);
        self.sent_again -= again;
        self.add_more(bytes - again);
    }

    /// Records that a request to a model puts definitions of `bytes` bytes into history, where
    /// requests have room for `share` bytes of them.
    pub(in crate::workflow) fn sent_definitions(&mut self, bytes: usize, share: usize, options: &ContinueOptions) {
        let fixed = options.new_bytes / MAX_DEFINITIONS_SENT;
        self.add_more(if bytes > share { bytes.max(fixed) } else { fixed });
    }

    /// Returns `true` if the run has put enough into history, which it never has before its first
    /// model call here. `counts_all` is called only if the second rule alone says so.
    pub(super) fn is_enough(&self, options: &ContinueOptions, counts_all: impl FnOnce() -> bool) -> bool {
        let events = self.events.map_or(0, |(first, latest)| latest.saturating_sub(first));
        let is_enough = |bytes: usize| {
            let is_above_reference_size = || events >= options.follow_suggestion_after_events || bytes >= self.carried;
            events >= options.new_events || bytes >= options.new_bytes || (self.suggested && is_above_reference_size())
        };
        let is_enough_of_all = || is_enough(self.all_bytes) || self.updates >= options.max_new_updates;
        self.has_called_a_model && (is_enough(self.bytes) || (is_enough_of_all() && counts_all()))
    }
}

#[cfg(test)]
mod tests;
