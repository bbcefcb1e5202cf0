//! The polls of a stream that wait for an item.
//!
//! A plain value: `handlers.rs` waits, by the answers of this one. A *ticket* is the number of a
//! poll that waits, in the order of arrival.

use std::collections::VecDeque;

use crate::workflow::limits::open_updates::HELD_STREAM_POLLS;

/// The polls that wait in this execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Polls {
    /// `true` while the workflow ends its execution: no poll waits.
    is_draining: bool,
    /// Tickets of the polls that wait, the oldest first.
    parked: VecDeque<u64>,
    next_ticket: u64,
    /// Number of polls that have reached their time limit since the latest item.
    timed_out: u32,
}

impl Polls {
    /// Registers a poll that waits, and returns its ticket.
    pub(super) fn park(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.parked.push_back(ticket);
        ticket
    }

    /// Removes a poll that no longer waits.
    pub(super) fn unpark(&mut self, ticket: u64) {
        self.parked.retain(|parked| *parked != ticket);
    }

    /// Returns `true` if this poll waits beyond the number that may do so without a time limit.
    pub(super) fn is_over_budget(&self, ticket: u64) -> bool {
        self.parked.iter().take_while(|parked| **parked != ticket).count() >= HELD_STREAM_POLLS
    }

    /// Records that a poll returns at its time limit.
    pub(super) fn record_timeout(&mut self) {
        self.timed_out = self.timed_out.saturating_add(1);
    }

    /// Returns the number of polls that have reached their time limit since the latest item.
    pub(super) fn timed_out(&self) -> u32 {
        self.timed_out
    }

    /// Records that the stream has a new item.
    pub(super) fn item_arrived(&mut self) {
        self.timed_out = 0;
    }

    /// Returns `true` if no poll waits.
    pub(in crate::workflow) fn is_idle(&self) -> bool {
        self.parked.is_empty()
    }

    /// Returns `true` while all polls return at once.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Lets all polls return at once, those that wait and later ones.
    pub(in crate::workflow) fn drain(&mut self) {
        self.is_draining = true;
    }

    /// Lets polls wait again.
    pub(in crate::workflow) fn reopen(&mut self) {
        self.is_draining = false;
    }
}

#[cfg(test)]
mod tests;
