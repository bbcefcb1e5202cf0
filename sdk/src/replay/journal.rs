//! Records the behaviour of the current build while it replays a history: its commands, and the
//! decisions of its runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ExecuteWorkflowInput, ExecuteWorkflowResult, HandleSignalInput,
    HandleSignalResult, HandleUpdateInput, HandleUpdateResult, ScheduleActivityInput, ScheduleActivityResult,
    ScheduleLocalActivityInput, StartChildWorkflowInput, StartChildWorkflowResult, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
};

use crate::workflow::replay_journal::{ReplayJournal, ReplayJournalKey, ReplayNote};

/// The actions of a replay so far, in order.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Notes>>);

/// The entries of a journal.
#[derive(Debug, Default)]
struct Notes {
    entries: Vec<Entry>,
    is_closed: bool,
}

/// An action of a replay.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The start of an activity or of a child workflow.
    Command(Command),
    /// A decision of a run.
    Note(ReplayNote),
}

/// The properties by which a command is compared with a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The id of the activity, or of the child workflow.
    pub id: String,
    /// The type of the activity, or of the child workflow.
    pub kind: String,
    /// `true` for a local activity.
    pub is_local: bool,
}

impl Journal {
    /// Returns an interceptor that writes this journal in the replayed workflows.
    pub fn interceptor(&self) -> WorkflowInterceptorConstructor {
        let journal = self.clone();
        WorkflowInterceptorConstructor::new(move |_| journal.observer())
    }

    /// Returns the interceptor of one workflow.
    pub(crate) fn observer(&self) -> Observer {
        Observer(self.clone())
    }

    /// Returns the actions so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.notes().entries.clone()
    }

    /// Returns `true` if the journal has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.notes().is_closed
    }

    /// Drops all entries, and ignores those that follow.
    pub(crate) fn close(&self) {
        *self.notes() = Notes { entries: Vec::new(), is_closed: true };
    }

    fn add(&self, entry: Entry) {
        let mut notes = self.notes();
        if !notes.is_closed {
            notes.entries.push(entry);
        }
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn command(&self, id: Option<&String>, kind: &str, is_local: bool) {
        // Commands without an id are the author's own, and receive an id from the SDK.
        if let Some(id) = id {
            self.add(Entry::Command(Command { id: id.clone(), kind: kind.to_owned(), is_local }));
        }
    }

    fn of_runs(&self) -> ReplayJournal {
        let journal = self.clone();
        ReplayJournal::new(move |note| journal.add(Entry::Note(note)))
    }
}

/// Writes the journal, without changing the workflow's behaviour.
pub(crate) struct Observer(Journal);

impl WorkflowInterceptor for Observer {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let Self(journal) = self;
        WorkflowInterceptorFuture::new(
            ctx.with_context_value::<ReplayJournalKey, _>(journal.of_runs(), next.run(input)),
        )
    }

    fn handle_signal<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: HandleSignalInput,
        next: WorkflowNext<'a, HandleSignalInput, WorkflowInterceptorFuture<'a, HandleSignalResult>>,
    ) -> WorkflowInterceptorFuture<'a, HandleSignalResult> {
        let Self(journal) = self;
        WorkflowInterceptorFuture::new(
            ctx.with_context_value::<ReplayJournalKey, _>(journal.of_runs(), next.run(input)),
        )
    }

    fn handle_update<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: HandleUpdateInput,
        next: WorkflowNext<'a, HandleUpdateInput, WorkflowInterceptorFuture<'a, HandleUpdateResult>>,
    ) -> WorkflowInterceptorFuture<'a, HandleUpdateResult> {
        let Self(journal) = self;
        WorkflowInterceptorFuture::new(
            ctx.with_context_value::<ReplayJournalKey, _>(journal.of_runs(), next.run(input)),
        )
    }

    fn schedule_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.0.command(input.options().activity_id.as_ref(), input.activity_type(), false);
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        _ctx: WorkflowInterceptorContext,
        input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.0.command(input.options().activity_id.as_ref(), input.activity_type(), true);
        next.run(input)
    }

    fn start_child_workflow(
        &self,
        _ctx: WorkflowInterceptorContext,
        input: StartChildWorkflowInput,
        next: WorkflowNext<
            'static,
            StartChildWorkflowInput,
            CancellableWorkflowOutboundFuture<StartChildWorkflowResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartChildWorkflowResult> {
        self.0.command(input.options().workflow_id.as_ref(), input.workflow_type(), false);
        next.run(input)
    }
}
