//! What a run has put into history since it began in this execution of its workflow.
//!
//! What the context says of history (its length, the server's suggestion) is read where a command is about to be given, and nowhere
//! else. On replay a worker may be given the news of several workflow tasks at once, where none of them but the last has led to
//! commands; in one that has, history is as long as it was.
//!
//! What counts, and how much, decides when a workflow continues as new: a change here is a change of a rule (see CONTRIBUTING.md). So
//! content is counted, and not the words of the messages around it.

use super::options::ContinueOptions;
use crate::workflow::context::DurableContext;

/// What is new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Pace {
    /// The length of the history at the first command of the run, and at the latest.
    events: Option<(u32, u32)>,
    suggested: bool,
    bytes: usize,
    /// The size of the state the run began with.
    carried: usize,
    has_called_a_model: bool,
}

impl Pace {
    /// Of a run that goes on from a state of so many bytes.
    pub(super) fn after(carried: usize) -> Self {
        Self { carried, ..Self::default() }
    }

    /// Of a run that begins beside or after others, with what the execution has brought along.
    pub(super) fn anew(&self) -> Self {
        Self::after(self.carried)
    }

    /// An activity is about to be scheduled.
    pub(in crate::workflow) fn command(&mut self, ctx: &dyn DurableContext) {
        let now = ctx.history_length();
        let first = self.events.map_or(now, |(first, _)| first);
        self.events = Some((first, now));
        self.suggested = ctx.continue_as_new_suggested();
    }

    /// A model is about to be called, and is given so much that is new.
    pub(in crate::workflow) fn model_call(&mut self, bytes: usize) {
        self.has_called_a_model = true;
        self.add(bytes);
    }

    /// History gets so much content.
    pub(in crate::workflow) fn add(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether that is enough. It never is before the run has done something here.
    pub(super) fn is_enough(&self, options: &ContinueOptions) -> bool {
        let events = self.events.map_or(0, |(first, latest)| latest.saturating_sub(first));
        let is_worth_it = || events >= options.suggested_after_events || self.bytes >= self.carried;
        self.has_called_a_model
            && (events >= options.new_events || self.bytes >= options.new_bytes || (self.suggested && is_worth_it()))
    }
}

#[cfg(test)]
mod tests;
