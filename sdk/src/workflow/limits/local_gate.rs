//! Limits on the results of local activities that one workflow task carries: each result is a
//! marker in the response to the task, which has to fit into one message.
//!
//! A workflow task lasts for as long as local activities are running, also one after another. So
//! the total size of the results is limited, and when the limit is reached, a timer ends the
//! workflow task.

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

/// Maximum total bytes of results in one workflow task; together with what the other gate admits,
/// the response is below 4 MiB. A call that may return more runs alone.
const MOST_BYTES: usize = 1_000_000;
/// Bytes of a marker besides the result.
const AROUND: usize = 1_000;

/// The gate of one run, and of the runs inside it. Calls pass it in their order.
///
/// # Determinism
/// A call is admitted if what it may return fits beside what other calls have returned or may
/// return. So the first call that has to wait for a timer is the first for which the results that
/// the calls before it *have* returned leave no room. The order in which calls end does not matter;
/// it differs on replay.
#[derive(Debug, Default)]
pub(in crate::workflow) struct LocalGate {
    under_way: Cell<usize>,
    /// Maximum bytes that the calls under way may return.
    may_return: Cell<usize>,
    /// Maximum bytes that the calls under way may return, plus the bytes that the others have
    /// returned since the latest timer.
    bytes: Cell<usize>,
    next: Cell<u64>,
    waiting: RefCell<BTreeSet<u64>>,
    /// `true` if a place was freed while others wait.
    take_wakeup: Cell<bool>,
}

/// The place of a call. Dropping it frees the place.
pub(in crate::workflow) struct LocalPermit<'g> {
    gate: &'g LocalGate,
    may_return: usize,
    returned: Cell<usize>,
}

impl LocalGate {
    /// Waits until there is room for a call that may return `may_return` bytes.
    ///
    /// # Errors
    /// [`Cancelled`]; a call that still waits when the run is cancelled is never scheduled.
    pub(in crate::workflow) async fn enter(
        &self,
        ctx: &Rc<dyn DurableContext>,
        may_return: usize,
        token: &WorkflowCancellationToken,
    ) -> Result<LocalPermit<'_>, Cancelled> {
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
            // A call that is admitted at once is scheduled first and cancelled then, as if there
            // was no gate.
            if has_waited && token.is_cancelled() {
                return Poll::Ready(Err(Cancelled));
            }
            has_waited = true;
            Poll::Pending
        })
        .await?;
        // The call is alone and has no room: a timer ends the workflow task, and the count starts
        // again.
        if !has_room {
            ctx.pause(Duration::from_millis(1), "room for the result of a local activity", token.clone()).await;
            if token.is_cancelled() {
                return Err(Cancelled);
            }
            self.reset_task_budget();
        }
        Ok(self.let_in(may_return))
    }

    fn let_in(&self, may_return: usize) -> LocalPermit<'_> {
        self.under_way.set(self.under_way.get() + 1);
        self.may_return.set(self.may_return.get() + may_return);
        self.bytes.set(self.bytes.get() + may_return);
        LocalPermit { gate: self, may_return, returned: Cell::new(AROUND) }
    }

    /// Returns `true` if a place was freed, since the last call of this function, while others
    /// wait.
    pub(in crate::workflow) fn take_wakeup(&self) -> bool {
        self.take_wakeup.take()
    }

    /// Records that a place was freed: waiters may have room now.
    fn left(&self) {
        self.take_wakeup.set(!self.waiting.borrow().is_empty());
    }

    /// Starts the count again, because the workflow task of the latest result has ended. The
    /// results of calls under way (of a guardrail beside the model call, for example) are still to
    /// come.
    pub(in crate::workflow) fn reset_task_budget(&self) {
        self.bytes.set(self.may_return.get());
    }

    fn has_room(&self, may_return: usize) -> bool {
        self.bytes.get() == 0 || self.bytes.get() + may_return <= MOST_BYTES
    }
}

impl LocalPermit<'_> {
    /// Records that the call has returned `bytes` bytes.
    pub(in crate::workflow) fn returned(&self, bytes: usize) {
        // Bytes beyond the maximum do not count: which calls are admitted must not depend on the
        // order in which calls end.
        self.returned.set(bytes.saturating_add(AROUND).min(self.may_return));
    }
}

impl Drop for LocalPermit<'_> {
    fn drop(&mut self) {
        self.gate.under_way.set(self.gate.under_way.get() - 1);
        self.gate.may_return.set(self.gate.may_return.get() - self.may_return);
        self.gate.bytes.set(self.gate.bytes.get() - self.may_return + self.returned.get());
        self.gate.left();
    }
}

/// A place in the queue. Dropping it leaves the queue.
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
