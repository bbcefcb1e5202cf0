//! How much of a run is in flight at a time: what one workflow task schedules has to fit into one message to the server.
//!
//! A workflow task that answers with more than 4 MiB of commands, or that has more than 2,000 activities pending, fails and is tried again for
//! ever. Everything a task schedules is in flight when it ends, so that a limit on what is in flight is a limit on what it schedules.
//!
//! # Design
//! At most 40 tool activities of a run, given at most 3 MB, are in flight, so that what a workflow
//! task schedules fits into one message, and what ends meanwhile does not overflow the server's
//! buffer of 100 events. The 3 MB are shared by model calls with more than 16 kB of new content:
//! those of agents that run at the same time wait for each other. At most 200 model calls are in
//! flight. What workflow tools start has what tool and model calls leave of 1,900 activities, by
//! default 1,660, and of 3.9 MB of JSON. (The server's buffer also has a limit of 2 MB: results
//! that are large together make it close the workflow task under way and begin a new one. Nothing
//! is lost.)

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::pin,
    task::Poll,
};

use temporalio_workflow::WorkflowCancellationToken;

/// Most tool activities of a run that are in flight, unless the run says more.
///
/// Each leaves two events when it ends. A server that holds back more than 100 of them, while a workflow task is under way, fails that task.
const MOST_CALLS: usize = 40;
/// Most that a run may say: with 2,000 pending activities the server takes no more.
const MOST_THAT_MAY_BE: usize = 1_500;
/// Most questions to models that are in flight: those of agents side by side.
const MOST_QUESTIONS: usize = 200;
/// Most calls, questions and effects together: the server takes 2,000 pending activities. Effects have all that is left by the others, because
/// the body that starts them awaits them with what it likes: `join_all` of many polls only what was woken, and who waits here is not.
const MOST_TOGETHER: usize = 1_900;
/// Most bytes of JSON that they are given together; a larger one runs alone.
const MOST_BYTES: usize = 3_000_000;
/// The same, effects and small questions included, which do not wait for large ones. A message has 4,194,304.
const MOST_BYTES_WITH_SMALL: usize = 3_900_000;
/// What a call adds to the message besides what it is given: ids, names, timeouts, summary.
const AROUND: usize = 1_000;
/// A question to a model, or an effect of a workflow tool, that brings no more than this waits for no larger one.
const SMALL: usize = 16_384;

/// The gate of one run, and of the runs inside it. Who waits is let in first come, first served, in a queue for each kind: calls, questions to
/// models (which come one after another but for agents that run side by side), and what the bodies of workflow tools start.
///
/// # Determinism
/// It has no waker, which a workflow's detector would take for nondeterminism: who waits is polled with the loop. A workflow polls it once for what has
/// happened, and who waits may come before whom it waited for, so [`until_settled`] polls it again where somebody has left.
#[derive(Debug)]
pub(in crate::workflow) struct Gate {
    most_calls: usize,
    calls: Lane,
    questions: Lane,
    effects: Lane,
    bytes: Cell<usize>,
    next: Cell<u64>,
    /// Somebody has left, and others wait.
    is_worth_a_look: Cell<bool>,
}

/// How many of a kind are in flight, and which wait.
#[derive(Debug, Default)]
struct Lane {
    in_flight: Cell<usize>,
    waiting: RefCell<BTreeSet<u64>>,
}

/// Who is at the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A call of a tool.
    Call,
    /// A question to a model, or what of it is recorded before.
    Question,
    /// An activity or a child workflow that a workflow tool starts.
    Effect,
}

/// A place at the gate; given back when it is dropped.
#[derive(Debug)]
pub(in crate::workflow) struct Place<'g> {
    gate: &'g Gate,
    kind: Kind,
    bytes: usize,
    has_waited: bool,
}

impl Place<'_> {
    /// Whether it was not to be had at once.
    pub(in crate::workflow) fn has_waited(&self) -> bool {
        self.has_waited
    }
}

/// The run was cancelled before the call was let in.
#[derive(Debug)]
pub(in crate::workflow) struct Cancelled;

impl Gate {
    /// A gate for as many calls as the run says, or more.
    pub(in crate::workflow) fn new(most: Option<usize>) -> Self {
        Self {
            most_calls: most.unwrap_or_default().clamp(MOST_CALLS, MOST_THAT_MAY_BE),
            calls: Lane::default(),
            questions: Lane::default(),
            effects: Lane::default(),
            bytes: Cell::default(),
            next: Cell::default(),
            is_worth_a_look: Cell::default(),
        }
    }

    /// A gate for so many at a time, and no more.
    #[cfg(feature = "nexus")]
    pub(in crate::workflow) fn at_most(most: usize) -> Self {
        Self { most_calls: most, ..Self::new(None) }
    }

    /// Waits until a call that is given so many bytes has room.
    ///
    /// # Errors
    /// [`Cancelled`]; what waits when the run is cancelled is never scheduled.
    pub(in crate::workflow) async fn enter(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Call, bytes, token).await
    }

    /// Waits until a question that brings so many bytes has room. How many calls there are does not matter to it.
    ///
    /// # Errors
    /// [`Cancelled`], as above.
    pub(in crate::workflow) async fn ask(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Question, bytes, token).await
    }

    /// Waits until what a workflow tool starts, and gives so many bytes, has room. How many calls and questions there are does not matter to it.
    ///
    /// # Errors
    /// [`Cancelled`], as above.
    pub(in crate::workflow) async fn start(
        &self,
        bytes: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<Place<'_>, Cancelled> {
        self.place(Kind::Effect, bytes, token).await
    }

    async fn place(&self, kind: Kind, bytes: usize, token: &WorkflowCancellationToken) -> Result<Place<'_>, Cancelled> {
        let bytes = bytes.saturating_add(AROUND);
        let ticket = Ticket { gate: self, kind, number: self.next.get() };
        self.next.set(ticket.number + 1);
        self.lane(kind).waiting.borrow_mut().insert(ticket.number);
        let mut has_waited = false;
        let has_waited = poll_fn(move |_| {
            let is_next = || self.lane(kind).waiting.borrow().first() == Some(&ticket.number);
            if self.has_room(kind, bytes) && (is_next() || is_small(kind, bytes)) {
                return Poll::Ready(Ok(has_waited));
            }
            // Who is let in at once is scheduled and cancelled there, as ever.
            if has_waited && token.is_cancelled() {
                return Poll::Ready(Err(Cancelled));
            }
            has_waited = true;
            Poll::Pending
        })
        .await?;
        let in_flight = &self.lane(kind).in_flight;
        in_flight.set(in_flight.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        Ok(Place { gate: self, kind, bytes, has_waited })
    }

    /// Whether somebody has left, since this was last asked, where others wait.
    pub(in crate::workflow) fn is_worth_a_look(&self) -> bool {
        self.is_worth_a_look.take()
    }

    /// Somebody has left: who waits may have room now.
    fn left(&self) {
        self.is_worth_a_look.set(self.lanes().iter().any(|lane| !lane.waiting.borrow().is_empty()));
    }

    fn has_room(&self, kind: Kind, bytes: usize) -> bool {
        let most = match kind {
            Kind::Call => self.most_calls,
            Kind::Question => MOST_QUESTIONS,
            Kind::Effect => self.most_effects(),
        };
        let most_bytes = if kind == Kind::Effect || is_small(kind, bytes) { MOST_BYTES_WITH_SMALL } else { MOST_BYTES };
        let is_empty = self.lanes().iter().all(|lane| lane.in_flight.get() == 0);
        let fits = self.bytes.get().saturating_add(bytes) <= most_bytes;
        is_empty || (self.lane(kind).in_flight.get() < most && fits)
    }

    fn most_effects(&self) -> usize {
        MOST_TOGETHER - MOST_QUESTIONS - self.most_calls.min(MOST_THAT_MAY_BE)
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
    kind != Kind::Call && bytes <= SMALL
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let in_flight = &self.gate.lane(self.kind).in_flight;
        in_flight.set(in_flight.get() - 1);
        self.gate.bytes.set(self.gate.bytes.get() - self.bytes);
        self.gate.left();
    }
}

/// A place in the queue.
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

/// Polls what passes through gates for as long as somebody leaves one where others wait, which `is_worth_a_look` says.
pub(in crate::workflow) async fn until_settled<T>(
    is_worth_a_look: impl Fn() -> bool,
    passing: impl Future<Output = T>,
) -> T {
    let mut passing = pin!(passing);
    poll_fn(|cx| {
        loop {
            let polled = passing.as_mut().poll(cx);
            if polled.is_ready() || !is_worth_a_look() {
                return polled;
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests;
