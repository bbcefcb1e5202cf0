//! The messages of a chat, and the runs that answer them, in the order of the history.
//!
//! # Design
//! **Order links a message to its run; the text decides about repeats.** A chat answers the
//! messages in the order in which it has received them. It does not answer one whose id it
//! remembers, but it remembers 100 replies at most: a message that was sent again may be a new one.
//! It waits here as one that may be, and is that of the next run only if the run begins with its
//! text.

use std::collections::{BTreeSet, VecDeque};

use temporal_agents_core::wire::{Item, ItemView, RunEvent};

/// Number of messages whose ids are kept after their run has begun. A chat remembers no more.
const MAX_BEGUN: usize = 101;

/// The messages of a chat, and the runs that answer them.
#[derive(Default)]
pub(super) struct ChatRuns {
    waiting: VecDeque<Waiting>,
    /// The messages whose runs have begun, latest last.
    begun: VecDeque<String>,
    runs: BTreeSet<String>,
    /// The run that continues in the next execution, where it has another id.
    pub(super) moving: Option<String>,
}

/// A message whose run has not begun.
struct Waiting {
    id: String,
    text: String,
    /// `true` if a message with this id was answered before.
    is_repeated: bool,
}

impl ChatRuns {
    /// Creates the runs of a chat that remembers these messages.
    pub(super) fn new(answered: impl IntoIterator<Item = String>) -> Self {
        Self { begun: answered.into_iter().collect(), ..Self::default() }
    }

    pub(super) fn message(&mut self, id: &str, text: &str, is_refused: bool) {
        let place = self.waiting.iter().rposition(|waiting| waiting.id == id);
        match place {
            Some(place) if is_refused => drop(self.waiting.remove(place)),
            // A chat that continues as new repeats the messages that wait.
            Some(_) => {}
            None if is_refused => {}
            None => {
                let is_repeated = self.begun.iter().any(|begun| begun == id);
                self.waiting.push_back(Waiting { id: id.to_owned(), text: text.to_owned(), is_repeated });
            }
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

    /// Returns the message that a run answers when it begins; `input` is that of the run, as far as
    /// it is known.
    pub(super) fn began(&mut self, run: &str, input: &[Item]) -> Option<String> {
        if !self.runs.insert(run.to_owned()) {
            return None;
        }
        let text = input.iter().rev().find(|item| matches!(item.view(), ItemView::Message { role: "user", .. }));
        let text = text.and_then(Item::text);
        let first_new = self.waiting.iter().position(|waiting| !waiting.is_repeated);
        let before = &mut self.waiting.iter().take(first_new.unwrap_or(usize::MAX));
        let is_meant = |waiting: &Waiting| text.as_ref().is_some_and(|text| *text == waiting.text);
        let place = match first_new {
            Some(place) if is_meant(&self.waiting[place]) => Some(place),
            _ => before.position(is_meant).or(first_new),
        }?;
        let message = self.waiting.drain(..=place).next_back()?.id;
        self.begun.push_back(message.clone());
        if self.begun.len() > MAX_BEGUN {
            self.begun.pop_front();
        }
        Some(message)
    }
}

#[cfg(test)]
mod tests;
