//! Records the behaviour of the current build while it replays a history: its commands, and the
//! decisions of its runs.

use std::sync::{Arc, Mutex, PoisonError};

use temporal_agents::__private::{ReplayJournal, ReplayJournalKey, ReplayNote};
use temporalio_workflow::workflow_interceptors::{
    CancellableWorkflowOutboundFuture, ExecuteWorkflowInput, ExecuteWorkflowResult, HandleSignalInput,
    HandleSignalResult, HandleUpdateInput, HandleUpdateResult, ScheduleActivityInput, ScheduleActivityResult,
    ScheduleLocalActivityInput, StartChildWorkflowInput, StartChildWorkflowResult, WorkflowInterceptor,
    WorkflowInterceptorConstructor, WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
};

/// The actions of a replay so far, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(Arc<Mutex<Vec<Entry>>>);

#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// The start of an activity or of a child workflow.
    Command(Command),
    /// A decision of a run.
    Note(ReplayNote),
}

/// The properties by which a command is compared with a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// The id of the activity, or of the child workflow.
    pub(super) id: String,
    /// The type of the activity, or of the child workflow.
    pub(super) kind: String,
    pub(super) is_local: bool,
}

impl Journal {
    /// Returns an interceptor that writes this journal in the replayed workflows.
    pub(super) fn interceptor(&self) -> WorkflowInterceptorConstructor {
        let journal = self.clone();
        WorkflowInterceptorConstructor::new(move |_| Observer(journal.clone()))
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, entry: Entry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
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
struct Observer(Journal);

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
