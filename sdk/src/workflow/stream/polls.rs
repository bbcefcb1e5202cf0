//! The polls of a stream that wait for an item.
//!
//! A plain value: `handlers.rs` waits, by the answers of this one. A *ticket* is the number of a
//! poll that waits, in the order of arrival.
//!
//! # Design
//! **A poll that waits is a handler at work.** A workflow that waits for its handlers, to end or to
//! continue as new, would wait for the next item. So polls wait without a time limit only while the
//! workflow's code expects them: while a run with the inbox is active, or once the author holds
//! a [`WorkflowStream`](super::WorkflowStream). Otherwise, and while the execution ends, they wait
//! for a limited time and return together: then there is a moment without a poll.
//!
//! **Few polls wait without a time limit.** The server admits a limited number of open updates, and
//! the poll of a client that is gone waits until the next item. The polls beyond the budget
//! (`limits/open_updates.rs`) have a time limit too, so that another poll is admitted. Clients that
//! are alive poll again. The time limit doubles from 3 s to 24 s while no item arrives.
//!
//! **The polls of an execution are counted.** The server admits 2,000 updates in one execution.
//! Long before, a run continues as new (`ContinueOptions::max_new_updates`), also while it waits
//! for decisions. It cannot while a call runs, and an official client polls some seven times a
//! second while items arrive. So after 500 polls each one first waits for 2 s, after 1,000 for 10
//! s. After 1,500 the workflow refuses polls, and the rest is for decisions: this crate's
//! subscribers then read by query, and the official ones give up. The server also counts updates
//! that are refused, until it loads the execution anew, but a subscriber sends only one of them.
//!
//! **The results of one workflow task are limited together.** All polls that wait return with the
//! same items, in one request to the server, which may have 4 MB. A poll that finds no room returns
//! without items, with `more_ready`. A task is recognised by the length of the history, which
//! is the same on replay in a task that answers a poll.

use std::{collections::VecDeque, time::Duration};

use crate::workflow::limits::open_updates::HELD_STREAM_POLLS;
use crate::workflow::stream::messages::MOST_ITEM_BYTES;

/// The first time limit of a poll that has one.
const FIRST_TIME_LIMIT: Duration = Duration::from_secs(3);
/// Number of polls that reach the time limit until it doubles.
const TIMEOUTS_UNTIL_DOUBLED: u32 = 8;
/// Maximum number of times that the time limit doubles.
const MOST_DOUBLINGS: u32 = 3;
/// The delays of polls in an execution that has had many: number of polls, and time.
const DELAYS: [(u32, Duration); 2] = [(1_000, Duration::from_secs(10)), (500, Duration::from_secs(2))];
/// Number of polls after which an execution refuses polls.
const MAX_POLLS: u32 = 1_500;
/// Maximum bytes of the items in the results of one workflow task: one item of the maximum size.
const MOST_TASK_BYTES: usize = MOST_ITEM_BYTES;

/// The polls that wait in this execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::workflow) struct Polls {
    /// `true` while the workflow ends its execution.
    is_draining: bool,
    /// `true` once the author's code holds the stream.
    is_held: bool,
    /// `true` while a run with the inbox is active.
    has_run: bool,
    /// Tickets of the polls that wait, the oldest first.
    parked: VecDeque<u64>,
    next_ticket: u64,
    /// Polls with a ticket below this one return.
    released: u64,
    /// Number of polls that have reached their time limit since the latest item.
    timed_out: u32,
    /// Number of polls in this execution.
    total: u32,
    /// Number of polls without a result, waiting or not.
    unanswered: u32,
    /// Length of the history at the latest result, and the bytes of the results since then.
    last_result: (u32, usize),
}

impl Polls {
    /// Counts a poll that has arrived.
    pub(super) fn arrived(&mut self) {
        self.total = self.total.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(1);
    }

    /// Adds polls to the total that were not received here, for tests of the limit.
    pub(in crate::workflow) fn count_earlier(&mut self, polls: u32) {
        self.total = self.total.saturating_add(polls);
    }

    /// Records that a poll has its result.
    pub(super) fn record_answer(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }

    /// Returns `true` if a poll has no result yet.
    pub(in crate::workflow) fn has_unanswered(&self) -> bool {
        self.unanswered > 0
    }

    /// Returns `true` if this execution refuses further polls.
    pub(super) fn is_used_up(&self) -> bool {
        self.total >= MAX_POLLS
    }

    /// Returns the time that a poll waits before it returns, also if there are items; `None` =
    /// none.
    pub(super) fn delay(&self) -> Option<Duration> {
        let is_reached = |(polls, _): &&(u32, Duration)| self.total > *polls;
        DELAYS.iter().find(is_reached).map(|(_, delay)| *delay).filter(|_| !self.is_draining)
    }

    /// Returns the number of polls in this execution.
    pub(in crate::workflow) fn total(&self) -> u32 {
        self.total
    }

    /// Returns `true` if there have been this many polls; `None` = never.
    pub(in crate::workflow) fn has_reached(&self, max_polls: Option<u32>) -> bool {
        max_polls.is_some_and(|max_polls| self.total >= max_polls)
    }

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

    /// Returns `true` if this poll returns, with items or without.
    pub(super) fn is_released(&self, ticket: u64) -> bool {
        ticket < self.released
    }

    /// Returns the longest time that this poll may wait; `None` = no limit.
    pub(super) fn time_limit(&self, ticket: u64) -> Option<Duration> {
        if self.is_draining {
            return Some(FIRST_TIME_LIMIT);
        }
        let is_over_budget = self.parked.iter().take_while(|parked| **parked != ticket).count() >= HELD_STREAM_POLLS;
        let doublings = (self.timed_out / TIMEOUTS_UNTIL_DOUBLED).min(MOST_DOUBLINGS);
        (is_over_budget || !self.may_wait()).then(|| FIRST_TIME_LIMIT * 2_u32.pow(doublings))
    }

    /// Records that a poll has reached its time limit.
    pub(super) fn record_timeout(&mut self) {
        self.timed_out = self.timed_out.saturating_add(1);
        if self.is_draining || !self.may_wait() {
            self.release();
        }
    }

    /// Records that the stream has a new item.
    pub(super) fn item_arrived(&mut self) {
        self.timed_out = 0;
    }

    /// Returns `true` if no poll waits.
    pub(in crate::workflow) fn is_idle(&self) -> bool {
        self.parked.is_empty()
    }

    /// Releases all polls that wait; later ones wait for 3 s at most.
    pub(in crate::workflow) fn drain(&mut self) {
        self.is_draining = true;
        self.release();
    }

    /// Lets polls wait again.
    pub(in crate::workflow) fn reopen(&mut self) {
        self.is_draining = false;
    }

    /// Lets polls wait without a time limit from now on.
    pub(in crate::workflow) fn hold(&mut self) {
        self.is_held = true;
    }

    /// Records that a run with the inbox is active.
    pub(in crate::workflow) fn run_began(&mut self) {
        self.has_run = true;
    }

    /// Records that no run with the inbox is active.
    pub(in crate::workflow) fn runs_ended(&mut self) {
        self.has_run = false;
        if !self.may_wait() {
            self.release();
        }
    }

    fn may_wait(&self) -> bool {
        self.is_held || self.has_run
    }

    fn release(&mut self) {
        self.released = self.next_ticket;
    }

    /// Returns the bytes that the results of the workflow task at this length of the history may
    /// still have; `None` if there is no result yet.
    pub(super) fn remaining_bytes(&self, history_length: u32) -> Option<usize> {
        let (at, bytes) = self.last_result;
        (at == history_length && bytes > 0).then(|| MOST_TASK_BYTES.saturating_sub(bytes))
    }

    /// Records a result of this size in the workflow task at this length of the history.
    pub(super) fn record_result(&mut self, history_length: u32, bytes: usize) {
        let (at, before) = self.last_result;
        let before = if at == history_length { before } else { 0 };
        self.last_result = (history_length, before.saturating_add(bytes));
    }
}

#[cfg(test)]
mod tests;
