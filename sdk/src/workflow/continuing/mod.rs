//! Continue-as-new by itself: when a run has put enough into its history, it goes on in the next execution of its workflow.
//!
//! | file | what it holds |
//! |---|---|
//! | `options.rs` | when it happens, and how large a state may be |
//! | `pace.rs` | what the run has put into history, and whether that is enough |
//! | `stored.rs` | states that are too large for the input: in chunks, through activities |
//! | `leave.rs` | the end of this execution |
//! | `arrive.rs` | the beginning of the next one |

mod arrive;
mod leave;
mod options;
mod pace;
mod stored;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use temporalio_workflow::WorkflowTermination;

pub use self::options::ContinueOptions;
use self::pace::Pace;
pub(super) use self::{
    arrive::{Arrived, arrive},
    leave::{NextExecution, Place},
};
use super::context::DurableContext;
use crate::{engine::RunError, wire::Carried};

/// Ends an execution so that the next one gets what is carried.
pub(super) type Next = Rc<dyn Fn(Carried) -> WorkflowTermination>;

/// How the runs of a runner continue as new.
#[derive(Clone)]
pub(super) struct Continuing {
    next: Next,
    /// Whether one of the runs is at work: continuing would lose a second one.
    at_work: Rc<Cell<bool>>,
    /// What all runs of this execution have put into its history.
    together: Rc<RefCell<Pace>>,
    /// How often what is at work here has continued as new.
    continued: Rc<Cell<u32>>,
}

/// A run that may continue as new.
pub(super) struct Moving {
    next: Next,
    /// Tells the workflow that its handlers are waited for.
    announce: Option<Rc<dyn Fn()>>,
    options: ContinueOptions,
    /// How often it has.
    continued: u32,
    pace: RefCell<Pace>,
    together: Rc<RefCell<Pace>>,
    /// Whether there was a moment without handlers at work, so that the run cannot be inside one.
    is_in_no_handler: Cell<bool>,
    /// How often it has begun to keep its state.
    series: Cell<u32>,
    _at_work: AtWork,
}

/// Says that a run is at work, until it is dropped.
struct AtWork(Rc<Cell<bool>>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl Moving {
    /// An activity is about to be scheduled: see `pace.rs` for why all is looked at here.
    pub(super) fn command(&self, ctx: &dyn DurableContext) {
        self.each(|pace| pace.command(ctx));
        if !ctx.has_handlers_at_work() {
            self.is_in_no_handler.set(true);
        }
    }

    /// A model is about to be called, and is given so much that is new.
    pub(super) fn model_call(&self, bytes: usize) {
        self.each(|pace| pace.model_call(bytes));
    }

    /// History gets so much content.
    pub(super) fn add(&self, bytes: usize) {
        self.each(|pace| pace.add(bytes));
    }

    fn each(&self, note: impl Fn(&mut Pace)) {
        note(&mut self.pace.borrow_mut());
        note(&mut self.together.borrow_mut());
    }
}

impl Continuing {
    /// Runs that continue as new like this.
    pub(super) fn new(next: Next) -> Self {
        Self { next, at_work: Rc::default(), together: Rc::default(), continued: Rc::default() }
    }

    /// Something has arrived from the execution before.
    pub(super) fn has_arrived(&self, Arrived { continued, bytes }: Arrived) {
        self.continued.set(continued);
        self.together.replace(Pace::after(bytes));
    }

    /// Whether the runs of this execution have together put enough into its history.
    pub(super) fn has_enough(&self, options: &ContinueOptions) -> bool {
        self.together.borrow().is_enough(options)
    }

    /// A run begins, or goes on.
    ///
    /// # Errors
    /// [`RunError::User`] when another one is at work.
    pub(super) fn begin(
        &self,
        agent: &str,
        options: ContinueOptions,
        announce: Option<Rc<dyn Fn()>>,
        arrived: Option<Arrived>,
    ) -> Result<Moving, RunError> {
        if self.at_work.replace(true) {
            let message =
                "Two runs at the same time cannot both continue as new: the workflow would go on with one of them and \
                 lose the other. Run one after the other, or give the others a Runner without continue_with."
                    .to_owned();
            return Err(RunError::User { agent: agent.to_owned(), message, has_run_data: false });
        }
        let at_work = AtWork(Rc::clone(&self.at_work));
        let pace = arrived.map_or_else(Pace::default, |Arrived { bytes, .. }| Pace::after(bytes));
        if let Some(arrived) = arrived {
            self.has_arrived(arrived);
        }
        Ok(Moving {
            next: Rc::clone(&self.next),
            announce,
            options,
            continued: self.continued.get(),
            pace: pace.into(),
            together: Rc::clone(&self.together),
            is_in_no_handler: Cell::new(false),
            series: Cell::default(),
            _at_work: at_work,
        })
    }
}
