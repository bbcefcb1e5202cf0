//! The log of a stream: items with global offsets, and the known publishers.
//!
//! A plain value without clock, context or wakers. Offsets grow by one for each item over all
//! topics, and are never used again, also when items are dropped and after continue-as-new. Input
//! from outside never fails: what cannot be read is left out, entry by entry.
//!
//! # Design
//! **The log is bounded.** Anyone who can signal the workflow can publish. The log keeps the latest
//! 10,000 items and 4 MiB; older ones are dropped, as by a truncation. 1,000 publishers are known
//! at a time; after 15 minutes without a batch one is forgotten, as in the official SDKs. The input
//! of the next execution has the latest 256 KiB.
//!
//! **An item is dropped by its offset, not by its place.** The items of one topic can be dropped
//! and leave a gap, which to a subscriber looks like a filter of topics.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::polls::Polls;
use crate::workflow::limits::size::encoded_len;
use crate::workflow::stream::messages::{
    CarriedStream, MAX_TOPIC_BYTES, MOST_ITEM_BYTES, PollInput, PollResult, PublishEntry, PublishInput,
    RUN_EVENTS_TOPIC, StreamItem, StreamPublisher, decode_payload,
};

/// Maximum number of items in the log, and of bytes that they take.
const MOST_ITEMS: usize = 10_000;
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of topics whose items are dropped with their turn.
const MAX_TURN_TOPICS: usize = 16;
/// Bytes that an item takes beside its topic and data.
const ITEM_OVERHEAD_BYTES: usize = 64;
/// Maximum bytes of JSON of the items in the input of the next execution.
const MOST_CARRIED_BYTES: usize = 256 * 1024;
/// Maximum number of publishers, and of bytes of the id of one.
const MOST_PUBLISHERS: usize = 1000;
const MOST_PUBLISHER_ID: usize = 64;
/// Time in milliseconds after which a publisher without a batch is forgotten.
const PUBLISHER_TTL: u64 = 15 * 60 * 1000;
/// Maximum size of the items of a poll's result, as the official SDKs measure it.
const MOST_POLL_BYTES: usize = 1_000_000;

/// The items of a workflow's stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "CarriedStream", from = "CarriedStream")]
pub(in crate::workflow) struct StreamLog {
    /// Items in the order of their offsets.
    items: VecDeque<StreamItem>,
    /// Offset of the next item.
    end: u64,
    /// Bytes that the items take.
    bytes: usize,
    publishers: BTreeMap<String, StreamPublisher>,
    /// End of the stream at the latest answer of a model.
    answered_at: Option<u64>,
    /// Topics beside `run_events` whose items are dropped with their turn.
    turn_topics: BTreeSet<String>,
    /// `true` if this log was read from the input of the execution.
    is_restored: bool,
    /// Batches that arrived before the log of the previous execution, with their times; `None` if
    /// the log does not wait for one.
    early: Option<Vec<(Value, u64)>>,
    polls: Polls,
}

impl StreamLog {
    /// Creates the log of an execution that restores that of the previous one after the first
    /// batches may have arrived. Until [`restore`](Self::restore) it only collects them.
    /// Polls wait without a time limit: the workflow closes its stream.
    pub(in crate::workflow) fn awaiting_restore() -> Self {
        let mut log = Self { early: Some(Vec::new()), ..Self::default() };
        log.polls.hold();
        log
    }

    /// Continues the log of the previous execution, or begins if there is none. Batches that have
    /// arrived before are then published.
    pub(in crate::workflow) fn restore(&mut self, before: Self) {
        let early = self.early.take().unwrap_or_default();
        *self = Self { polls: std::mem::take(&mut self.polls), ..before };
        for (input, now) in early {
            self.publish(input, now);
        }
    }

    /// Merges the log of the previous execution, unless this one was read from the same input.
    /// Items that have already arrived here come after those of the previous execution.
    pub(in crate::workflow) fn take_over(&mut self, before: Self) {
        // A log that was never used is not in the input of the execution.
        if self.is_restored || self.early.is_some() || before.is_unused() {
            return;
        }
        let arrived = std::mem::replace(&mut self.items, before.items);
        self.end = before.end;
        self.bytes = before.bytes;
        self.answered_at = before.answered_at;
        self.turn_topics.extend(before.turn_topics);
        self.is_restored = true;
        for (id, publisher) in before.publishers {
            self.publishers.entry(id).or_insert(publisher);
        }
        for item in arrived {
            self.push(item.topic, item.data);
        }
    }

    /// Returns `true` if no item and no batch was ever published.
    pub(in crate::workflow) fn is_unused(&self) -> bool {
        self.end == 0 && self.publishers.is_empty()
    }

    /// Returns the offset of the next item.
    pub(in crate::workflow) fn end(&self) -> u64 {
        self.end
    }

    /// Returns the offset of the oldest item.
    fn base(&self) -> u64 {
        self.items.front().map_or(self.end, |item| item.offset)
    }

    /// Publishes a batch from outside, at this time in milliseconds. A batch whose number is not
    /// above the latest one of its publisher is dropped as a whole.
    pub(in crate::workflow) fn publish(&mut self, input: Value, now: u64) {
        if let Some(early) = &mut self.early {
            early.push((input, now));
            return;
        }
        let Ok(input) = serde_json::from_value(input) else { return };
        let PublishInput { items, publisher_id, sequence, turn_topics } = input;
        if !publisher_id.is_empty() {
            let latest = self.publishers.get(&publisher_id).map_or(0, |known| known.sequence);
            if sequence <= latest || publisher_id.len() > MOST_PUBLISHER_ID {
                return;
            }
            self.publishers.insert(publisher_id, StreamPublisher { sequence, last_seen: now });
            self.forget_publishers(now);
        }
        for topic in turn_topics {
            if topic.len() <= MAX_TOPIC_BYTES && self.turn_topics.len() < MAX_TURN_TOPICS {
                self.turn_topics.insert(topic);
            }
        }
        for entry in items {
            if let Ok(PublishEntry { topic, data }) = serde_json::from_value(entry)
                && topic.len() <= MAX_TOPIC_BYTES
                && topic.len() + data.len() <= MOST_ITEM_BYTES
                && decode_payload(&data).is_some()
            {
                self.push(topic, data);
            }
        }
    }

    /// Appends an item, drops the oldest ones if the log is full, and returns the item's offset.
    pub(in crate::workflow) fn push(&mut self, topic: String, data: String) -> u64 {
        let offset = self.end;
        let item = StreamItem { topic, data, offset };
        self.end += 1;
        self.bytes += kept_bytes(&item);
        self.items.push_back(item);
        self.polls.item_arrived();
        while self.items.len() > MOST_ITEMS || self.bytes > MOST_BYTES {
            self.drop_oldest();
        }
        offset
    }

    /// Drops the items before this offset.
    pub(in crate::workflow) fn truncate(&mut self, up_to: u64) {
        while self.items.front().is_some_and(|item| item.offset < up_to) {
            self.drop_oldest();
        }
    }

    /// Records that a model has answered: deltas of the run from before the previous answer are
    /// dropped, unless other runs that publish them are active.
    pub(in crate::workflow) fn answered(&mut self, is_alone: bool) {
        if let (Some(before), true) = (self.answered_at, is_alone) {
            let is_of_turn = |topic: &String| topic == RUN_EVENTS_TOPIC || self.turn_topics.contains(topic);
            self.items.retain(|item| item.offset >= before || !is_of_turn(&item.topic));
            self.bytes = self.items.iter().map(kept_bytes).sum();
        }
        self.answered_at = Some(self.end);
    }

    fn drop_oldest(&mut self) {
        if let Some(item) = self.items.pop_front() {
            self.bytes -= kept_bytes(&item);
        }
    }

    /// Forgets publishers whose time is over, and of too many those with the oldest batches.
    fn forget_publishers(&mut self, now: u64) {
        self.publishers.retain(|_, publisher| now.saturating_sub(publisher.last_seen) < PUBLISHER_TTL);
        while self.publishers.len() > MOST_PUBLISHERS {
            let oldest = self.publishers.iter().min_by_key(|(_, publisher)| publisher.last_seen);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else { return };
            self.publishers.remove(&oldest);
        }
    }

    /// Returns `true` if a poll from this offset returns at once.
    pub(in crate::workflow) fn has_news(&self, from: u64) -> bool {
        self.early.is_none() && (from < self.base() || self.end > from)
    }

    /// Returns the result of a poll, as large as the workflow task at this length of the history
    /// has room for.
    pub(super) fn poll_result(&mut self, input: &PollInput, history_length: u32) -> PollResult {
        let result = self.collect(input, self.polls.remaining_bytes(history_length));
        self.polls.record_result(history_length, result.items.iter().map(kept_bytes).sum());
        result
    }

    /// Returns the items of these topics from this offset, up to the size of one result; if there
    /// is less room, up to that size, which may be none.
    pub(super) fn collect(&self, input: &PollInput, room: Option<usize>) -> PollResult {
        // A subscriber may be ahead of a log that the workflow has not restored yet.
        let end = self.end.max(input.from_offset);
        let mut result = PollResult { items: Vec::new(), next_offset: end, more_ready: false };
        let most = room.map_or(MOST_POLL_BYTES, |room| room.min(MOST_POLL_BYTES));
        let mut bytes = 0;
        let first = self.items.partition_point(|item| item.offset < input.from_offset);
        for item in self.items.range(first..) {
            if !input.topics.is_empty() && !input.topics.contains(&item.topic) {
                continue;
            }
            bytes += poll_bytes(item);
            if bytes > most && (room.is_some() || !result.items.is_empty()) {
                (result.next_offset, result.more_ready) = (item.offset, true);
                break;
            }
            result.items.push(item.clone());
        }
        result
    }

    /// Returns the polls that wait.
    pub(in crate::workflow) fn polls(&self) -> &Polls {
        &self.polls
    }

    pub(in crate::workflow) fn polls_mut(&mut self) -> &mut Polls {
        &mut self.polls
    }
}

/// Returns the size of an item in the result of a poll.
fn poll_bytes(item: &StreamItem) -> usize {
    item.topic.len() + item.data.len()
}

fn kept_bytes(item: &StreamItem) -> usize {
    poll_bytes(item) + ITEM_OVERHEAD_BYTES
}

impl From<StreamLog> for CarriedStream {
    /// Keeps the latest items, up to the size that fits into the input of the next execution.
    fn from(log: StreamLog) -> Self {
        let StreamLog { mut items, end, publishers, answered_at, turn_topics, .. } = log;
        let mut bytes = 0;
        let fits = |item: &&StreamItem| {
            bytes += encoded_len(item).unwrap_or(MOST_CARRIED_BYTES);
            bytes <= MOST_CARRIED_BYTES
        };
        let kept = items.iter().rev().take_while(fits).count();
        items.drain(..items.len() - kept);
        Self { items: items.into(), end_offset: end, publishers, answered_at, turn_topics }
    }
}

impl From<CarriedStream> for StreamLog {
    /// Leaves out items whose offsets are not in order: a client may have written the input.
    fn from(carried: CarriedStream) -> Self {
        let CarriedStream { items, end_offset: end, publishers, answered_at, turn_topics } = carried;
        let mut log = Self { end, publishers, answered_at, turn_topics, is_restored: true, ..Self::default() };
        for item in items {
            let fits = item.topic.len() <= MAX_TOPIC_BYTES && poll_bytes(&item) <= MOST_ITEM_BYTES;
            if fits && item.offset < end && log.items.back().is_none_or(|last| last.offset < item.offset) {
                log.bytes += kept_bytes(&item);
                log.items.push_back(item);
            }
        }
        log
    }
}

#[cfg(test)]
mod tests;
