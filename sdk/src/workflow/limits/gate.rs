//! Limits on how much of a run is in flight at a time: the commands of one workflow task have to
//! fit into one message to the server.
//!
//! A workflow task fails, and is retried forever, if its response has more than 4 MiB of commands,
//! or if more than 2,000 activities are pending. Everything that a task schedules is in flight when
//! the task ends, so that a limit on what is in flight also limits what a task schedules.
//!
//! # Design
//! At most 40 tool activities of a run, with at most 2.4 MB of input, are in flight, so that the
//! commands of a workflow task fit into one message, and the activities that end meanwhile do not
//! overflow the server's buffer of 100 events. Model calls with more than 16 kB of new content
//! share the 2.4 MB: those of concurrent agents wait for each other. Definitions that travel with a
//! call do not count here, because a deploy may change their size; see `definitions.rs`. At most 200
//! model calls are in flight. Effects of workflow tools have the rest that tool and model calls leave of 1,900
//! activities, by default 1,660, and of 3.3 MB of JSON. (The server's buffer also has a limit of 2
//! MB: results that are large together make it close the current workflow task and begin a new one.
//! Nothing is lost.)

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use temporalio_workflow::WorkflowCancellationToken;

use super::definitions::{DefinitionGroups, GroupMember};

/// Maximum number of tool activities of a run in flight, unless the run sets a higher one.
///
/// Each adds two events to history when it ends. A server that has to buffer more than 100 events
/// while a workflow task is in progress fails that task.
const DEFAULT_MAX_CALLS: usize = 40;
/// The highest maximum that a run may set: with 2,000 pending activities the server accepts no
/// more.
const MAX_CONFIGURABLE_CALLS: usize = 1_500;
/// Maximum number of model calls in flight: those of concurrent agents.
const MOST_QUESTIONS: usize = 200;
/// Maximum number of tool calls, model calls and effects together: the server accepts 2,000 pending
/// activities. Effects have all that the others leave, because the body that starts them may await
/// them in any way: `join_all` of many futures polls only those that were woken, and a future that
/// waits at this gate is not woken.
const MAX_PENDING: usize = 1_900;
/// Maximum total size of the JSON input, in bytes; a larger call runs alone.
const MOST_BYTES: usize = 2_400_000;
/// Maximum total size of the JSON input, in bytes, for effects and small model calls, which do not
/// wait for large ones. A message may have 4,194,304 bytes; definitions have 600,000 of them.
const MAX_BYTES_WITH_SMALL: usize = 3_300_000;
/// Bytes that a call adds to the message besides its input: ids, names, timeouts, summary.
const AROUND: usize = 1_000;
/// Input size, in bytes, up to which a model call, or an effect of a workflow tool, does not wait
/// for a larger one.
const SMALL_BYTES: usize = 16_384;

/// The gate of one run, and of the runs inside it. Waiters are admitted first come, first served,
/// in a separate queue for each kind: tool calls, model calls (which are made one after another,
/// except by concurrent agents), and the effects that the bodies of workflow tools start.
///
/// # Determinism
/// The gate has no waker, which a workflow's nondeterminism detector would report: waiters are
/// polled with the loop. A workflow polls the loop once for a set of events, and a waiter may be
/// polled before the place that it waits for is freed, so that [`poll_until_idle`] polls the loop
/// again if a place was freed.
#[derive(Debug)]
pub(in crate::workflow) struct Gate {
    most_calls: usize,
    calls: Lane,
    questions: Lane,
    effects: Lane,
    bytes: Cell<usize>,
    next: Cell<u64>,
    definitions: DefinitionGroups,
    /// `true` if a place was freed while others wait.
    take_wakeup: Cell<bool>,
}

/// The calls of one kind: the number in flight, and the ticket numbers of those that wait.
#[derive(Debug, Default)]
struct Lane {
    in_flight: Cell<usize>,
    waiting: RefCell<BTreeSet<u64>>,
}

/// The kind of a call at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A tool call.
    Call,
    /// A model call, or a recording of its items before it.
    Question,
    /// An activity or a child workflow that a workflow tool starts.
    Effect,
}

/// A place at the gate. Dropping it frees the place.
#[derive(Debug)]
pub(in crate::workflow) struct Place<'g> {
    gate: &'g Gate,
    kind: Kind,
    calls: usize,
    bytes: usize,
    has_waited: bool,
}

impl Place<'_> {
    /// Returns `true` if the place was not available at once.
    pub(in crate::workflow) fn has_waited(&self) -> bool {
        self.has_waited
    }
}

/// The run was cancelled before the call was admitted.
#[derive(Debug)]
pub(in crate::workflow) struct Cancelled;

impl Gate {
    /// Creates a gate for as many tool calls as the run sets, but for at least `DEFAULT_MAX_CALLS`.
    pub(in crate::workflow) fn new(most: Option<usize>) -> Self {
        Self {
            most_calls: most.unwrap_or_default().clamp(DEFAULT_MAX_CALLS, MAX_CONFIGURABLE_CALLS),
            calls: Lane::default(),
            questions: Lane::default(),
            effects: Lane::default(),
            bytes: Cell::default(),
            next: Cell::default(),
            definitions: DefinitionGroups::default(),
            take_wakeup: Cell::default(),
        }
    }

    /// Creates a gate for at most `most` calls at a time, without the default minimum.
    #[cfg(feature = "nexus")]
    pub(in crate::workflow) fn at_most(most: usize) -> Self {
        Self { most_calls: most, ..Self::new(None) }
    }

    /// Waits until there is room for a tool call with `bytes` bytes of input.
    ///
    /// # Errors
    /// [`Cancelled`]; a call that still waits when the run is cancelled is never scheduled.
    pub(in crate::workflow) async fn enter(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Call, 1, bytes, token).await
    }

    /// Waits until there is room for one activity with so many tool calls and `bytes` bytes of
    /// input. All of them enter together, so that two activities cannot wait for each other.
    ///
    /// # Errors
    /// [`Cancelled`], as for `enter`.
    pub(in crate::workflow) async fn enter_together(
        &self,
        calls: usize,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Call, calls, bytes, token).await
    }

    /// Waits until there is room for a model call with `bytes` bytes of input, regardless of the
    /// number of tool calls.
    ///
    /// # Errors
    /// [`Cancelled`], as for `enter`.
    pub(in crate::workflow) async fn ask(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Question, 1, bytes, token).await
    }

    /// Waits until no call with definitions of an earlier group is open. Returns `true` if it had to
    /// wait.
    ///
    /// # Errors
    /// [`Cancelled`], as for `enter`.
    pub(in crate::workflow) async fn wait_for_group(
        &self,
        member: &GroupMember<'_>,
        token: &WorkflowCancellationToken,
    ) -> Result<bool, Cancelled> {
        let mut has_waited = false;
        poll_fn(|_| {
            if member.is_first() {
                return Poll::Ready(Ok(has_waited));
            }
            has_waited = true;
            if token.is_cancelled() { Poll::Ready(Err(Cancelled)) } else { Poll::Pending }
        })
        .await
    }

    pub(super) fn definitions(&self) -> &DefinitionGroups {
        &self.definitions
    }

    /// Waits until there is room for an effect of a workflow tool with `bytes` bytes of input,
    /// regardless of the number of tool and model calls.
    ///
    /// # Errors
    /// [`Cancelled`], as for `enter`.
    pub(in crate::workflow) async fn start(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Effect, 1, bytes, token).await
    }

    async fn place(
        &self,
        kind: Kind,
        calls: usize,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        let bytes = bytes.saturating_add(AROUND);
        let ticket = Ticket { gate: self, kind, number: self.next.get() };
        self.next.set(ticket.number + 1);
        self.lane(kind).waiting.borrow_mut().insert(ticket.number);
        let mut has_waited = false;
        let has_waited = poll_fn(move |_| {
            let is_next = || self.lane(kind).waiting.borrow().first() == Some(&ticket.number);
            if self.has_room(kind, calls, bytes) && (is_next() || is_small(kind, bytes)) {
                return Poll::Ready(Ok(has_waited));
            }
            // A call that is admitted at once is scheduled first and cancelled then, as if there
            // was no gate.
            if has_waited && token.is_cancelled() {
                return Poll::Ready(Err(Cancelled));
            }
            has_waited = true;
            Poll::Pending
        })
        .await?;
        let in_flight = &self.lane(kind).in_flight;
        in_flight.set(in_flight.get() + calls);
        self.bytes.set(self.bytes.get() + bytes);
        Ok(Place { gate: self, kind, calls, bytes, has_waited })
    }

    /// Returns `true` if a place was freed, since the last call of this function, while others
    /// wait.
    pub(in crate::workflow) fn take_wakeup(&self) -> bool {
        self.take_wakeup.take()
    }

    /// Records that a place was freed: waiters may have room now.
    pub(super) fn left(&self) {
        let waits = self.lanes().iter().any(|lane| !lane.waiting.borrow().is_empty());
        self.take_wakeup.set(waits || self.definitions.has_waiting());
    }

    fn has_room(&self, kind: Kind, calls: usize, bytes: usize) -> bool {
        let most = match kind {
            Kind::Call => self.most_calls,
            Kind::Question => MOST_QUESTIONS,
            Kind::Effect => self.most_effects(),
        };
        let most_bytes = if kind == Kind::Effect || is_small(kind, bytes) { MAX_BYTES_WITH_SMALL } else { MOST_BYTES };
        let is_empty = self.lanes().iter().all(|lane| lane.in_flight.get() == 0);
        let fits = self.bytes.get().saturating_add(bytes) <= most_bytes;
        is_empty || (self.lane(kind).in_flight.get() + calls <= most && fits)
    }

    fn most_effects(&self) -> usize {
        MAX_PENDING - MOST_QUESTIONS - self.most_calls.min(MAX_CONFIGURABLE_CALLS)
    }

    fn lane(&self, kind: Kind) -> &Lane {
        match kind {
            Kind::Call => &self.calls,
            Kind::Question => &self.questions,
            Kind::Effect => &self.effects,
        }
    }

    fn lanes(&self) -> [&Lane; 3] {
        [&self.calls, &self.questions, &self.effects]
    }
}

fn is_small(kind: Kind, bytes: usize) -> bool {
    kind != Kind::Call && bytes <= SMALL_BYTES
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let in_flight = &self.gate.lane(self.kind).in_flight;
        in_flight.set(in_flight.get() - self.calls);
        self.gate.bytes.set(self.gate.bytes.get() - self.bytes);
        self.gate.left();
    }
}

/// A place in the queue. Dropping it leaves the queue.
struct Ticket<'g> {
    gate: &'g Gate,
    kind: Kind,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.gate.lane(self.kind).waiting.borrow_mut().remove(&self.number);
        self.gate.left();
    }
}

/// Polls `passing`, a future that passes gates, again whenever `take_wakeup` reports that a
/// place was freed while others wait.
pub(in crate::workflow) async fn poll_until_idle<T>(
    take_wakeup: impl Fn() -> bool,
    passing: impl Future<Output = T>,
) -> T {
    let mut passing = pin!(passing);
    poll_fn(|cx| {
        loop {
            let polled = passing.as_mut().poll(cx);
            if polled.is_ready() || !take_wakeup() {
                return polled;
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests;
