//! The knowledge of a call in the process that holds the device.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{sync::watch, task::AbortHandle, time::Instant};

use super::request::{NumberedReply, Reply};
use crate::remote::one_call::MOST_DELTAS;

/// Time for which a call is known after its end.
const RETAINED: Duration = Duration::from_mins(15);

/// Most bytes of the output of a call that are kept until its end.
const MOST_BYTES: usize = 1 << 20;

/// The replies about a call, in their order.
#[derive(Debug)]
pub(super) struct CallLog {
    replies: Mutex<Vec<Reply>>,
    /// The number of replies.
    count: watch::Sender<u64>,
    ended: Mutex<Option<Instant>>,
    /// The task that sends the replies to the latest caller.
    sending: Mutex<Option<AbortHandle>>,
}

fn output_bytes(reply: &Reply) -> usize {
    match reply {
        Reply::OutputDelta(delta) => delta.delta.len() + delta.stream.len(),
        _ => 0,
    }
}

impl CallLog {
    pub(super) fn new() -> Self {
        let (count, _) = watch::channel(0);
        Self { replies: Mutex::default(), count, ended: Mutex::default(), sending: Mutex::default() }
    }

    /// Returns what is known of a call that has this last reply only.
    pub(super) fn ended_with(reply: Reply) -> Self {
        let log = Self::new();
        log.add(reply);
        log
    }

    /// Adds a reply, unless the call has ended, or the reply is more output than is passed on.
    pub(super) fn add(&self, reply: Reply) {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = reply.is_last();
        let bytes = || replies.iter().chain([&reply]).map(output_bytes).sum::<usize>();
        let is_surplus = || replies.len() >= MOST_DELTAS || bytes() > MOST_BYTES;
        if replies.last().is_some_and(Reply::is_last) || (!is_last && is_surplus()) {
            return;
        }
        replies.push(reply);
        if is_last {
            *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        self.count.send_replace(replies.len() as u64);
    }

    /// Waits for the reply after this number of them; `None` if the call has ended before.
    pub(super) async fn next(&self, after: u64) -> Option<NumberedReply> {
        let mut count = self.count.subscribe();
        let is_there = |count: &u64| *count > after;
        while !is_there(&count.borrow_and_update()) {
            if self.has_ended() {
                return None;
            }
            count.changed().await.ok()?;
        }
        let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let reply = replies.get(usize::try_from(after).ok()?)?.clone();
        Some(NumberedReply { at: after + 1, reply })
    }

    /// Waits until the call has ended.
    pub(super) async fn end(&self) {
        let mut count = self.count.subscribe();
        while !self.has_ended() {
            if count.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Returns `true` if the call has ended with the connection of its device.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.replies.lock().unwrap_or_else(PoisonError::into_inner).last(), Some(Reply::Gone))
    }

    /// Returns `true` if nobody will ask about the call any more.
    pub(super) fn is_forgotten(&self) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|ended| ended.elapsed() > RETAINED)
    }

    /// Replaces the task that sends the replies to a caller.
    pub(super) fn sends_by(&self, task: AbortHandle) {
        let before = self.sending.lock().unwrap_or_else(PoisonError::into_inner).replace(task);
        if let Some(before) = before {
            before.abort();
        }
    }
}
