//! How much of a run is in flight at a time: what one workflow task schedules has to fit into one message to the server.
//!
//! A workflow task that answers with more than 4 MiB of commands, or that has more than 2,000 activities pending, fails and is tried again for
//! ever. Everything a task schedules is in flight when it ends, so that a limit on what is in flight is a limit on what it schedules.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::poll_fn,
    task::Poll,
};

use temporalio_workflow::WorkflowCancellationToken;

/// Most tool activities of a run that are in flight, unless the run says more.
///
/// Each leaves two events when it ends. A server that holds back more than 100 of them, while a workflow task is under way, fails that task.
const MOST_CALLS: usize = 40;
/// Most that a run may say: with 2,000 pending activities the server takes no more.
const MOST_THAT_MAY_BE: usize = 1_500;
/// Most bytes of JSON that they are given together; a larger one runs alone.
const MOST_BYTES: usize = 3_000_000;
/// What a call adds to the message besides what it is given: ids, names, timeouts, summary.
const AROUND: usize = 1_000;

/// The gate of one run, and of the runs inside it. Who waits is let in first come, first served.
///
/// # Determinism
/// It has no waker: who waits is polled with the loop, which is polled again whenever an activity has ended.
#[derive(Debug)]
pub(super) struct Gate {
    most: usize,
    calls: Cell<usize>,
    bytes: Cell<usize>,
    next: Cell<u64>,
    waiting: RefCell<BTreeSet<u64>>,
}

/// A place of a call; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place<'g> {
    gate: &'g Gate,
    bytes: usize,
}

/// The run was cancelled before the call was let in.
#[derive(Debug)]
pub(super) struct Cancelled;

impl Gate {
    /// A gate for as many calls as the run says, or more.
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            most: most.unwrap_or_default().clamp(MOST_CALLS, MOST_THAT_MAY_BE),
            calls: Cell::default(),
            bytes: Cell::default(),
            next: Cell::default(),
            waiting: RefCell::default(),
        }
    }

    /// Waits until a call that is given so many bytes has room.
    ///
    /// # Errors
    /// [`Cancelled`]; what waits when the run is cancelled is never scheduled.
    pub(super) async fn enter(&self, bytes: usize, token: &WorkflowCancellationToken) -> Result<Place<'_>, Cancelled> {
        let bytes = bytes.saturating_add(AROUND);
        let ticket = Ticket { gate: self, number: self.next.get() };
        self.next.set(ticket.number + 1);
        self.waiting.borrow_mut().insert(ticket.number);
        let mut has_waited = false;
        poll_fn(move |_| {
            if self.has_room(bytes) && self.waiting.borrow().first() == Some(&ticket.number) {
                return Poll::Ready(Ok(()));
            }
            // Who is let in at once is scheduled and cancelled there, as ever.
            if has_waited && token.is_cancelled() {
                return Poll::Ready(Err(Cancelled));
            }
            has_waited = true;
            Poll::Pending
        })
        .await?;
        self.calls.set(self.calls.get() + 1);
        self.bytes.set(self.bytes.get() + bytes);
        Ok(Place { gate: self, bytes })
    }

    fn has_room(&self, bytes: usize) -> bool {
        let calls = self.calls.get();
        calls == 0 || calls < self.most && self.bytes.get() + bytes <= MOST_BYTES
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.gate.calls.set(self.gate.calls.get() - 1);
        self.gate.bytes.set(self.gate.bytes.get() - self.bytes);
    }
}

/// A place in the queue.
struct Ticket<'g> {
    gate: &'g Gate,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.gate.waiting.borrow_mut().remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
