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
}

/// A run that may continue as new.
pub(super) struct Moving {
    next: Next,
    /// Tells the workflow that its handlers are waited for.
    announce: Option<Rc<dyn Fn()>>,
    options: ContinueOptions,
    /// How often it has.
    continued: u32,
    pub(super) pace: RefCell<Pace>,
    /// Whether there was a moment without handlers at work, so that the run cannot be inside one.
    is_in_no_handler: Cell<bool>,
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
        self.pace.borrow_mut().command(ctx);
        if !ctx.has_handlers_at_work() {
            self.is_in_no_handler.set(true);
        }
    }
}

impl Continuing {
    pub(super) fn new(next: Next) -> Self {
        Self { next, at_work: Rc::default() }
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
        let (continued, pace) = match arrived {
            None => (0, Pace::new()),
            Some(Arrived { continued, bytes }) => (continued, Pace::after(bytes)),
        };
        Ok(Moving {
            next: Rc::clone(&self.next),
            announce,
            options,
            continued,
            pace: pace.into(),
            is_in_no_handler: Cell::new(false),
            _at_work: at_work,
        })
    }
}
