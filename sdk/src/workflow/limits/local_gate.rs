//! How many results of local activities one workflow task carries: each is a marker in its answer, which has to fit into one message.
//!
//! A workflow task lasts for as long as local activities are under way, one after another, too. So what the results may be together is
//! limited, and when that is used up, a timer ends the workflow task.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    future::poll_fn,
    rc::Rc,
    task::Poll,
    time::Duration,
};

use temporalio_workflow::WorkflowCancellationToken;

use super::gate::Cancelled;
use crate::workflow::context::DurableContext;

/// Most bytes of results in one workflow task; with what the other gate lets through it is below 4 MiB. One that may be larger goes alone.
const MOST_BYTES: usize = 1_000_000;
/// What a marker has besides the result.
const AROUND: usize = 1_000;

/// The gate of one run, and of the runs inside it. Calls go through it in their order.
///
/// # Determinism
/// A call is let in when what it may return fits beside what others have returned, or may. So the first that has to wait for a timer is the
/// first for which what those before it *have* returned leaves no room: the order in which they end does not matter, and is another one
/// on replay.
#[derive(Debug, Default)]
pub(in crate::workflow) struct LocalGate {
    under_way: Cell<usize>,
    /// What they may return.
    may_return: Cell<usize>,
    /// What those that are under way may return, and the others have, since the latest timer.
    bytes: Cell<usize>,
    next: Cell<u64>,
    waiting: RefCell<BTreeSet<u64>>,
    /// Somebody has left, and others wait.
    is_worth_a_look: Cell<bool>,
}

/// A place of a call; given back when it is dropped.
pub(in crate::workflow) struct LocalPlace<'g> {
    gate: &'g LocalGate,
    may_return: usize,
    returned: Cell<usize>,
}

impl LocalGate {
    /// Waits until a call that may return so many bytes has room.
    ///
    /// # Errors
    /// [`Cancelled`]; what waits when the run is cancelled is never scheduled.
    pub(in crate::workflow) async fn enter(
        &self,
        ctx: &Rc<dyn DurableContext>,
        may_return: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<LocalPlace<'_>, Cancelled> {
        let may_return = may_return.saturating_add(AROUND);
        let ticket = Ticket { gate: self, number: self.next.get() };
        self.next.set(ticket.number + 1);
        self.waiting.borrow_mut().insert(ticket.number);
        let mut has_waited = false;
        let has_room = poll_fn(|_| {
            let is_next = self.waiting.borrow().first() == Some(&ticket.number);
            let (is_idle, has_room) = (self.under_way.get() == 0, self.has_room(may_return));
            if is_next && (has_room || is_idle) {
                return Poll::Ready(Ok(has_room));
            }
            // Who is let in at once is scheduled and cancelled there, as ever.
            if has_waited && token.is_cancelled() {
                return Poll::Ready(Err(Cancelled));
            }
            has_waited = true;
            Poll::Pending
        })
        .await?;
        if !has_room {
            ctx.pause(Duration::from_millis(1), token.clone()).await;
            if token.is_cancelled() {
                return Err(Cancelled);
            }
            self.begins_anew();
        }
        Ok(self.let_in(may_return))
    }

    fn let_in(&self, may_return: usize) -> LocalPlace<'_> {
        self.under_way.set(self.under_way.get() + 1);
        self.may_return.set(self.may_return.get() + may_return);
        self.bytes.set(self.bytes.get() + may_return);
        LocalPlace { gate: self, may_return, returned: Cell::new(AROUND) }
    }

    /// Whether somebody has left, since this was last asked, where others wait.
    pub(in crate::workflow) fn is_worth_a_look(&self) -> bool {
        self.is_worth_a_look.take()
    }

    /// Somebody has left: who waits may have room now.
    fn left(&self) {
        self.is_worth_a_look.set(!self.waiting.borrow().is_empty());
    }

    /// The workflow task in which the latest result came has ended. What is under way (a guardrail beside the model call, say) is still to come.
    pub(in crate::workflow) fn begins_anew(&self) {
        self.bytes.set(self.may_return.get());
    }

    fn has_room(&self, may_return: usize) -> bool {
        self.bytes.get() == 0 || self.bytes.get() + may_return <= MOST_BYTES
    }
}

impl LocalPlace<'_> {
    /// The call has returned so many bytes.
    pub(in crate::workflow) fn returned(&self, bytes: usize) {
        // What is beyond does not change who is let in: that must not depend on the order in which calls end.
        self.returned.set(bytes.saturating_add(AROUND).min(self.may_return));
    }
}

impl Drop for LocalPlace<'_> {
    fn drop(&mut self) {
        self.gate.under_way.set(self.gate.under_way.get() - 1);
        self.gate.may_return.set(self.gate.may_return.get() - self.may_return);
        self.gate.bytes.set(self.gate.bytes.get() - self.may_return + self.returned.get());
        self.gate.left();
    }
}

/// A place in the queue.
struct Ticket<'g> {
    gate: &'g LocalGate,
    number: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.gate.waiting.borrow_mut().remove(&self.number);
        self.gate.left();
    }
}

#[cfg(test)]
mod tests;
