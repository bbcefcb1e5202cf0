//! Automatic continue-as-new: when a run has put enough into its history, it continues in the next
//! execution of its workflow.
//!
//! | file | content |
//! |---|---|
//! | `options.rs` | when a run continues as new, and how large a state may be |
//! | `pace.rs` | what the run has put into history, and whether that is enough |
//! | `stored.rs` | states that are too large for the input: in chunks, through activities |
//! | `leave.rs` | the end of this execution |
//! | `arrive.rs` | the start of the next one |
//! | `origin.rs` | whether there was a previous execution, according to the server |
//! | `task_failure.rs` | the failed task of an execution whose run this build cannot continue |
//!
//! # Design
//! **Two concurrent runs do not both continue as new.** The second run under a runner that
//! continues as new fails at once: the workflow would continue with one of them and lose the other,
//! even if the other has ended and its result waits in a `join!`. A run does not continue as new
//! while other runs of the runner, its clones or its inbox are active; this is checked before the
//! state is kept and again at the end. Anything else that a workflow has under way is lost, as with
//! any continue-as-new.

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

use temporal_agents_core::{engine::RunError, wire::Carried};
use temporalio_workflow::WorkflowTermination;

pub use self::options::ContinueOptions;
use self::pace::{PATCH_COUNT_EVERYTHING, Pace};
pub(super) use self::{
    arrive::{RestoredRun, arrive},
    leave::{NextExecution, Place},
    origin::{NotContinued, check as check_origin, continued_from, refused},
    task_failure::{fail_task, record_deploy_patch},
};
use super::context::DurableContext;
use crate::workflow::inbox::RunInbox;

/// Ends an execution so that the next one receives the carried run.
pub(super) type Next = Rc<dyn Fn(Carried) -> WorkflowTermination>;

/// The author's callbacks: `tell` reports that the run waits for handlers to finish, `take_back`
/// that the workflow does not continue as new after all.
#[derive(Clone, Default)]
pub(super) struct Announcement {
    pub(super) tell: Option<Rc<dyn Fn()>>,
    pub(super) take_back: Option<Rc<dyn Fn()>>,
}

/// Counts active runs.
#[derive(Clone, Default)]
pub(super) struct ActiveRuns(Rc<Cell<u32>>);

/// Counts one run as active for as long as this value lives.
pub(super) struct ActiveRunGuard(ActiveRuns);

impl ActiveRuns {
    pub(super) fn one(&self) -> ActiveRunGuard {
        self.0.set(self.0.get() + 1);
        ActiveRunGuard(self.clone())
    }

    pub(super) fn count(&self) -> u32 {
        self.0.get()
    }
}

impl Drop for ActiveRunGuard {
    fn drop(&mut self) {
        let ActiveRuns(count) = &self.0;
        count.set(count.get().saturating_sub(1));
    }
}

/// The settings and counters by which the runs of a runner continue as new.
#[derive(Clone)]
pub(super) struct AutoContinue {
    next: Next,
    /// Active runs that may continue as new: at most one at a time.
    continuable_runs: ActiveRuns,
    /// Content that all runs of this execution have put into its history.
    together: Rc<RefCell<Pace>>,
    /// Number of times that the workflow's run or conversation has continued as new.
    continued: Rc<Cell<u32>>,
}

/// The position of a run relative to the handlers of its workflow, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HandlerContext {
    /// Polls of the stream were running whenever the run looked.
    #[default]
    Unknown,
    /// There was a moment without a running handler.
    Outside,
    /// A handler other than a poll was running.
    MaybeInside,
}

/// A run that may continue as new.
pub(super) struct ContinuableRun {
    next: Next,
    announcement: Announcement,
    has_announced: Cell<bool>,
    options: ContinueOptions,
    /// Number of times that the run has continued as new.
    continued: u32,
    pace: RefCell<Pace>,
    together: Rc<RefCell<Pace>>,
    handler_context: Cell<HandlerContext>,
    /// Number of times that the run has begun to keep its state.
    series: Cell<u32>,
    /// The turn at which the run could not continue as new; it tries again after the next turn.
    stayed_at: Cell<Option<u32>>,
    /// All active runs of the runner and its clones, including those that do not continue as new.
    at_work: ActiveRuns,
    _mover: ActiveRunGuard,
}

impl ContinuableRun {
    /// Records that an activity is about to be scheduled; `pace.rs` explains why history is
    /// measured here.
    pub(super) fn command(&self, ctx: &dyn DurableContext, inbox: Option<&RunInbox>) {
        self.each(|pace| pace.command(ctx));
        self.look_for_handlers(ctx, inbox);
    }

    /// Looks whether the run can be inside a handler of the workflow.
    fn look_for_handlers(&self, ctx: &dyn DurableContext, inbox: Option<&RunInbox>) {
        if !ctx.has_handlers_at_work() {
            self.handler_context.set(HandlerContext::Outside);
        } else if self.handler_context.get() == HandlerContext::Unknown
            && !inbox.is_some_and(RunInbox::has_unanswered_polls)
        {
            self.handler_context.set(HandlerContext::MaybeInside);
        }
    }

    /// Marks the run as running outside of any handler.
    pub(super) fn outside_handlers(self) -> Self {
        self.handler_context.set(HandlerContext::Outside);
        self
    }

    /// Records that a model is about to be called, with `bytes` bytes of new content.
    pub(super) fn model_call(&self, bytes: usize) {
        self.each(|pace| pace.model_call(bytes));
    }

    /// Records `bytes` bytes of content that are put into history.
    pub(super) fn add(&self, bytes: usize) {
        self.each(|pace| pace.add(bytes));
    }

    /// Records `bytes` bytes of content in history that only the second rule counts: see `pace.rs`.
    pub(super) fn add_more(&self, bytes: usize) {
        self.each(|pace| pace.add_more(bytes));
    }

    /// Records that the run has received a decision that it waited for.
    pub(super) fn update(&self) {
        self.each(Pace::update);
    }

    /// Records that a request to a model puts `bytes` bytes into history.
    pub(super) fn sent(&self, bytes: usize) {
        self.each(|pace| pace.sent(bytes));
    }

    /// Records that a request to a model puts definitions of `bytes` bytes into history, where
    /// requests have room for `share` bytes of them.
    pub(super) fn sent_definitions(&self, bytes: usize, share: usize) {
        self.each(|pace| pace.sent_definitions(bytes, share, &self.options));
    }

    fn each(&self, note: impl Fn(&mut Pace)) {
        note(&mut self.pace.borrow_mut());
        note(&mut self.together.borrow_mut());
    }
}

impl AutoContinue {
    /// Creates the settings of runs whose executions end with `next`.
    pub(super) fn new(next: Next) -> Self {
        Self { next, continuable_runs: ActiveRuns::default(), together: Rc::default(), continued: Rc::default() }
    }

    /// Records what the previous execution left, which becomes the base for all runs of this
    /// execution.
    pub(super) fn has_arrived(&self, RestoredRun { continued, bytes, sent_again }: RestoredRun) {
        self.continued.set(continued);
        self.together.replace(Pace::after(bytes, sent_again));
    }

    /// Returns `true` if the runs of this execution have together put enough into its history, or
    /// if the stream has had this number of polls and they are enough.
    pub(super) fn has_enough(&self, options: &ContinueOptions, polls: u32, patched: impl FnOnce(&str) -> bool) -> bool {
        let together = self.together.borrow();
        polls >= together.polls_until_enough(options) || together.is_enough(options, || patched(PATCH_COUNT_EVERYTHING))
    }

    /// Returns the number of polls of the stream that are enough for this execution.
    pub(super) fn polls_until_enough(&self, options: &ContinueOptions) -> u32 {
        self.together.borrow().polls_until_enough(options)
    }

    /// Registers a run that begins, or continues from the previous execution.
    ///
    /// # Errors
    /// [`RunError::User`] if another run that may continue as new is active.
    pub(super) fn begin(
        &self,
        agent: &str,
        options: ContinueOptions,
        announcement: Announcement,
        at_work: ActiveRuns,
        arrived: Option<RestoredRun>,
    ) -> Result<ContinuableRun, RunError> {
        if self.continuable_runs.count() > 0 {
            let message = "Two runs at the same time cannot both continue as new: the workflow would continue with \
                           one of them and lose the other. Run one after the other, or let none of those that run at \
                           the same time continue as new."
                .to_owned();
            return Err(RunError::User { agent: agent.to_owned(), message, has_run_data: false });
        }
        if let Some(arrived) = arrived {
            self.has_arrived(arrived);
        }
        self.together.borrow_mut().update();
        // Starts from what the execution has received even if that was another run, or a
        // conversation: the next execution will also begin with that much.
        let pace = self.together.borrow().anew();
        Ok(ContinuableRun {
            next: Rc::clone(&self.next),
            announcement,
            has_announced: Cell::default(),
            options,
            continued: self.continued.get(),
            pace: pace.into(),
            together: Rc::clone(&self.together),
            handler_context: Cell::default(),
            series: Cell::default(),
            stayed_at: Cell::default(),
            at_work,
            _mover: self.continuable_runs.one(),
        })
    }
}

#[cfg(test)]
mod tests;
