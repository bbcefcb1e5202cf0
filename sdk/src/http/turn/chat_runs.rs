//! The messages of a chat, and the runs that answer them, in the order of the history.

use std::collections::{BTreeSet, VecDeque};

use crate::wire::RunEvent;

/// The messages of a chat, and the runs that answer them.
#[derive(Default)]
pub(super) struct ChatRuns {
    waiting: VecDeque<String>,
    messages: BTreeSet<String>,
    runs: BTreeSet<String>,
    /// The run that continues in the next execution, where it has another id.
    pub(super) moving: Option<String>,
}

impl ChatRuns {
    pub(super) fn message(&mut self, message: &str, is_refused: bool) {
        if is_refused {
            self.messages.remove(message);
            if let Some(place) = self.waiting.iter().rposition(|waiting| waiting == message) {
                self.waiting.remove(place);
            }
            return;
        }
        // A chat that continues as new repeats the messages that wait.
        if message.is_empty() || self.messages.insert(message.to_owned()) {
            self.waiting.push_back(message.to_owned());
        }
    }

    /// Returns `true` if a run of the execution before continues under another id.
    pub(super) fn has_moved(&self, event: &RunEvent) -> bool {
        self.moving.is_some() && !self.runs.contains(&event.run)
    }

    /// Returns the id that a run had in the execution before.
    pub(super) fn moved(&mut self, event: &RunEvent) -> Option<String> {
        self.runs.insert(event.run.clone());
        self.moving.take()
    }

    /// Returns the message that a run answers when it begins.
    pub(super) fn began(&mut self, run: &str) -> Option<String> {
        if self.runs.insert(run.to_owned()) { self.waiting.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests;
