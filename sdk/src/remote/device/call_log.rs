//! The knowledge of a call in the process that holds the device.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use temporal_agents_core::wire::size::encoded_len;
use tokio::{sync::watch, task::AbortHandle, time::Instant};
use uuid::Uuid;

use super::request::{NumberedReply, Reply};
use crate::remote::one_call::MOST_DELTAS;

/// Time for which a call is known after its end.
const RETAINED: Duration = Duration::from_mins(15);

/// Most bytes of the output of a call that are kept until its end.
const MOST_BYTES: usize = 1 << 20;

/// The replies about a call, in their order.
#[derive(Debug)]
pub(super) struct CallLog {
    /// Id of the log. Another process that makes the same call has another one.
    pub(super) id: String,
    replies: Mutex<Vec<Reply>>,
    progress: Mutex<Progress>,
    /// Number of requests for the call.
    asked: AtomicU64,
    /// The latest attempt that has requested the call.
    attempt: AtomicU32,
    /// The number of replies.
    count: watch::Sender<u64>,
    /// The time of the end, and the bytes of the replies.
    ended: Mutex<Option<(Instant, usize)>>,
    /// The task that sends the replies to the latest caller.
    sending: Mutex<Option<AbortHandle>>,
}

/// Progress of a call at its device. Locked before the replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The call waits for its turn.
    Waits,
    /// The device has the call.
    Begun,
    /// The call was given up before the device had it.
    GivenUp,
}

fn output_bytes(reply: &Reply) -> usize {
    match reply {
        Reply::OutputDelta(delta) => delta.delta.len() + delta.stream.len(),
        _ => 0,
    }
}

/// Returns the bytes of a reply, by its text.
fn kept_bytes(reply: &Reply) -> usize {
    match reply {
        Reply::Result(result) => encoded_len(result).unwrap_or_default(),
        reply => output_bytes(reply),
    }
}

impl CallLog {
    pub(super) fn new() -> Self {
        let (count, _) = watch::channel(0);
        Self {
            id: Uuid::new_v4().simple().to_string(),
            replies: Mutex::default(),
            progress: Mutex::new(Progress::Waits),
            asked: AtomicU64::new(0),
            attempt: AtomicU32::new(0),
            count,
            ended: Mutex::default(),
            sending: Mutex::default(),
        }
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
            let bytes = replies.iter().map(kept_bytes).sum();
            *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), bytes));
        }
        self.count.send_replace(replies.len() as u64);
    }

    /// Marks that the device gets the call now; `false` if it was given up before.
    pub(super) fn begin(&self) -> bool {
        let mut progress = self.progress();
        let begins = *progress == Progress::Waits;
        if begins {
            *progress = Progress::Begun;
        }
        begins
    }

    /// Gives the call up with this reply, unless the device has it; returns `true` if it is given
    /// up.
    pub(super) fn give_up(&self, reply: Reply) -> bool {
        let mut progress = self.progress();
        if *progress == Progress::Waits {
            *progress = Progress::GivenUp;
            self.add(reply);
        }
        *progress == Progress::GivenUp
    }

    /// Returns `true` if the call was given up before the device had it, so that it may be made.
    pub(super) fn is_given_up(&self) -> bool {
        *self.progress() == Progress::GivenUp
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of this attempt for the call.
    pub(super) fn ask(&self, attempt: u32) {
        self.attempt.fetch_max(attempt, Ordering::Relaxed);
        self.asked.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of requests for the call.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the latest attempt that has requested the call.
    pub(super) fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::Relaxed)
    }

    /// Waits for the reply after this number of them; `None` if the call has ended before.
    pub(super) async fn next(&self, after: u64) -> Option<NumberedReply> {
        let mut count = self.count.subscribe();
        loop {
            count.borrow_and_update();
            {
                let replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(reply) = replies.get(usize::try_from(after).ok()?) {
                    return Some(NumberedReply { log: self.id.clone(), at: after + 1, reply: reply.clone() });
                }
                if replies.last().is_some_and(Reply::is_last) {
                    return None;
                }
            }
            count.changed().await.ok()?;
        }
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

    /// Returns the time of the end, and the bytes that are kept; `None` before the end.
    pub(super) fn kept(&self) -> Option<(Instant, usize)> {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is kept of a call that has ended in place of this log: its end, which is this
    /// reply instead of a result. It is another log, so that its replies count from the first on.
    /// `None` if there is nothing to leave out, or the device never had the call.
    pub(super) fn shrunk(&self, instead: Reply) -> Option<Self> {
        let (ended, bytes) = self.kept()?;
        if bytes == 0 || self.is_given_up() {
            return None;
        }
        let log = Self::ended_with(if self.is_gone() { Reply::Gone } else { instead });
        log.ask(self.attempt());
        *log.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some((ended, 0));
        Some(log)
    }

    /// Returns `true` if nobody will ask about the call any more.
    pub(super) fn is_forgotten(&self) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|(ended, _)| ended.elapsed() > RETAINED)
    }

    /// Replaces the task that sends the replies to a caller.
    pub(super) fn sends_by(&self, task: AbortHandle) {
        let before = self.sending.lock().unwrap_or_else(PoisonError::into_inner).replace(task);
        if let Some(before) = before {
            before.abort();
        }
    }
}
