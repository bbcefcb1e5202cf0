//! Continue-as-new by itself: when a run has put enough into its history, it goes on in the next execution of its workflow.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs` | when it happens, and how large a state may be |
//! | `pace.rs` | what the run has put into history, and whether that is enough |
//! | `stored.rs` | states that are too large for the input: in chunks, through activities |
//! | `leave.rs` | the end of this execution |
//! | `arrive.rs` | the beginning of the next one |
//! | `origin.rs` | whether there was one before, as the server says |
//! | `task_failure.rs` | the failed task of an execution whose run this build cannot continue |
//!
//! # Design
//! **Two runs at a time do not both continue.** The second one under a runner that continues as new
//! fails at once: the workflow would continue with one and lose the other, even when that has ended
//! and its result waits in a `join!`. Beside other runs of the runner, its clones or its inbox a
//! run does not continue; this is checked before the state is kept and again at the end. Anything
//! else that a workflow has under way is lost, as with any continue-as-new.

mod arrive;
mod leave;
mod options;
mod origin;
mod pace;
mod stored;
mod task_failure;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use temporalio_workflow::WorkflowTermination;

pub use self::options::ContinueOptions;
use self::pace::{COUNTS_ALL, Pace};
pub(super) use self::{
    arrive::{Arrived, arrive},
    leave::{NextExecution, Place},
    origin::{NotContinued, check as check_origin, continued_from, refused},
    task_failure::{fail_task, waits_for_a_deploy},
};
use super::context::DurableContext;
use crate::{engine::RunError, wire::Carried};

/// Ends an execution so that the next one gets what is carried.
pub(super) type Next = Rc<dyn Fn(Carried) -> WorkflowTermination>;

/// Tells the workflow that its handlers are waited for, and takes that back.
#[derive(Clone, Default)]
pub(super) struct Announcement {
    pub(super) tell: Option<Rc<dyn Fn()>>,
    pub(super) take_back: Option<Rc<dyn Fn()>>,
}

/// Counts runs at work.
#[derive(Clone, Default)]
pub(super) struct AtWork(Rc<Cell<u32>>);

/// Says that a run is at work, until it is dropped.
pub(super) struct OneAtWork(AtWork);

impl AtWork {
    pub(super) fn one(&self) -> OneAtWork {
        self.0.set(self.0.get() + 1);
        OneAtWork(self.clone())
    }

    pub(super) fn count(&self) -> u32 {
        self.0.get()
    }
}

impl Drop for OneAtWork {
    fn drop(&mut self) {
        let AtWork(count) = &self.0;
        count.set(count.get().saturating_sub(1));
    }
}

/// How the runs of a runner continue as new.
#[derive(Clone)]
pub(super) struct Continuing {
    next: Next,
    /// The runs that may continue as new: one at a time.
    movers: AtWork,
    /// What all runs of this execution have put into its history.
    together: Rc<RefCell<Pace>>,
    /// How often what is at work here has continued as new.
    continued: Rc<Cell<u32>>,
}

/// A run that may continue as new.
pub(super) struct Moving {
    next: Next,
    announcement: Announcement,
    has_announced: Cell<bool>,
    options: ContinueOptions,
    /// How often it has.
    continued: u32,
    pace: RefCell<Pace>,
    together: Rc<RefCell<Pace>>,
    /// Whether there was a moment without handlers at work, so that the run cannot be inside one.
    is_in_no_handler: Cell<bool>,
    /// How often it has begun to keep its state.
    series: Cell<u32>,
    /// The turn at which it was to leave and could not; it tries again after the next one.
    stayed_at: Cell<Option<u32>>,
    /// All runs of the runner and its clones, also those that do not continue as new.
    at_work: AtWork,
    _mover: OneAtWork,
}

impl Moving {
    /// An activity is about to be scheduled: see `pace.rs` for why all is looked at here.
    pub(super) fn command(&self, ctx: &dyn DurableContext) {
        self.each(|pace| pace.command(ctx));
        if !ctx.has_handlers_at_work() {
            self.is_in_no_handler.set(true);
        }
    }

    /// It is known to be in no handler.
    pub(super) fn in_no_handler(self) -> Self {
        self.is_in_no_handler.set(true);
        self
    }

    /// A model is about to be called, and is given so much that is new.
    pub(super) fn model_call(&self, bytes: usize) {
        self.each(|pace| pace.model_call(bytes));
    }

    /// History gets so much content.
    pub(super) fn add(&self, bytes: usize) {
        self.each(|pace| pace.add(bytes));
    }

    /// History gets so much content that only the second rule counts: see `pace.rs`.
    pub(super) fn add_more(&self, bytes: usize) {
        self.each(|pace| pace.add_more(bytes));
    }

    /// A decision that the run has waited for is there.
    pub(super) fn update(&self) {
        self.each(Pace::update);
    }

    /// A request to a model puts so much into history.
    pub(super) fn sent(&self, bytes: usize) {
        self.each(|pace| pace.sent(bytes));
    }

    fn each(&self, note: impl Fn(&mut Pace)) {
        note(&mut self.pace.borrow_mut());
        note(&mut self.together.borrow_mut());
    }
}

impl Continuing {
    /// Runs that continue as new like this.
    pub(super) fn new(next: Next) -> Self {
        Self { next, movers: AtWork::default(), together: Rc::default(), continued: Rc::default() }
    }

    /// Something has arrived from the execution before.
    pub(super) fn has_arrived(&self, Arrived { continued, bytes, sent_again }: Arrived) {
        self.continued.set(continued);
        self.together.replace(Pace::after(bytes, sent_again));
    }

    /// Whether the runs of this execution have together put enough into its history.
    pub(super) fn has_enough(&self, options: &ContinueOptions, patched: impl FnOnce(&str) -> bool) -> bool {
        self.together.borrow().is_enough(options, || patched(COUNTS_ALL))
    }

    /// A run begins, or goes on.
    ///
    /// # Errors
    /// [`RunError::User`] when another one is at work.
    pub(super) fn begin(
        &self,
        agent: &str,
        options: ContinueOptions,
        announcement: Announcement,
        at_work: AtWork,
        arrived: Option<Arrived>,
    ) -> Result<Moving, RunError> {
        if self.movers.count() > 0 {
            let message = "Two runs at the same time cannot both continue as new: the workflow would go on with one of them and \
                           lose the other. Run one after the other, or let none of those that run at the same time continue as new."
                .to_owned();
            return Err(RunError::User { agent: agent.to_owned(), message, has_run_data: false });
        }
        if let Some(arrived) = arrived {
            self.has_arrived(arrived);
        }
        self.together.borrow_mut().update();
        // Also where another run has arrived, or a conversation: the next execution will begin with that much, too.
        let pace = self.together.borrow().anew();
        Ok(Moving {
            next: Rc::clone(&self.next),
            announcement,
            has_announced: Cell::default(),
            options,
            continued: self.continued.get(),
            pace: pace.into(),
            together: Rc::clone(&self.together),
            is_in_no_handler: Cell::new(false),
            series: Cell::default(),
            stayed_at: Cell::default(),
            at_work,
            _mover: self.movers.one(),
        })
    }
}

#[cfg(test)]
mod tests;
