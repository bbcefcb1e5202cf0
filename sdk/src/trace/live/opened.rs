//! The spans that the author of a workflow opens.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

use temporal_agents_core::wire::TraceSettings;

use super::{
    execution_of,
    queue::{Job, Queue},
    runs::SentRuns,
    sent::SentContext,
};
use crate::{
    trace::{attributes, ids::TraceId, span::Span},
    workflow::headers::{OpenedSpan, OpenedSpans},
};

/// The spans that the author of one execution opens.
pub(super) struct Opened {
    queue: Arc<Queue>,
    workflow_id: String,
    run_id: String,
    context: SentContext,
    /// Number of the next span.
    next: Cell<u64>,
    /// The trace that a run of the execution has named, if the workflow has begun its own.
    named: RefCell<Option<TraceId>>,
    has_ended: Cell<bool>,
    has_notes: Cell<bool>,
    /// The runs whose spans have left.
    runs: Arc<SentRuns>,
}

impl Opened {
    pub(super) fn new(queue: &Arc<Queue>, workflow_id: &str, run_id: &str, context: SentContext) -> Self {
        let (workflow_id, run_id) = (workflow_id.to_owned(), run_id.to_owned());
        let (next, named, has_ended, has_notes) =
            (Cell::new(0), RefCell::new(None), Cell::new(false), Cell::new(false));
        let (queue, runs) = (Arc::clone(queue), Arc::default());
        Self { queue, workflow_id, run_id, context, next, named, has_ended, has_notes, runs }
    }

    /// Records the trace that a run names: the first one counts.
    pub(super) fn named(&self, trace: TraceId) {
        self.named.borrow_mut().get_or_insert(trace);
    }

    /// Returns `true` if a span of the author was sent, or a run has left a note.
    pub(super) fn has_any(&self) -> bool {
        self.has_ended.get() || self.has_notes.get()
    }

    /// Returns the runs whose spans have left before the end of the execution.
    pub(super) fn sent_runs(&self) -> Arc<SentRuns> {
        Arc::clone(&self.runs)
    }
}

impl OpenedSpans for Rc<Opened> {
    fn number(&self) -> u64 {
        self.next.replace(self.next.get() + 1)
    }

    fn noted(&self, settings: Option<&TraceSettings>) {
        self.has_notes.set(true);
        if let Some(trace) = settings.and_then(TraceSettings::trace) {
            self.named(TraceId(trace));
        }
    }

    fn run_ended(&self, run: &str, settings: Option<&TraceSettings>) {
        if !self.context.caller.is_sampled || settings.is_some_and(|settings| settings.disabled) {
            return;
        }
        let sent = self.sent_runs();
        // One read sends all runs that end within a second.
        if sent.add_due(run) {
            let workflow_id = self.workflow_id.clone();
            let run_id = self.run_id.clone();
            self.queue.add(Job::RunsEnded { workflow_id, run_id, sent });
        }
    }

    fn ended(&self, span: OpenedSpan) {
        let OpenedSpan { number, parent, name, start, end } = span;
        if !self.context.caller.is_sampled {
            return;
        }
        self.has_ended.set(true);
        let execution = execution_of(&self.workflow_id, &self.run_id);
        let parent = parent.map_or(self.context.workflow, |parent| Some(execution.custom(parent)));
        let named = self.named.borrow().filter(|_| self.context.is_own());
        let (trace, described) = (named.unwrap_or(self.context.caller.trace), attributes::custom(&execution, name));
        let span = Span::new(trace, execution.custom(number), parent, (start, end), described);
        self.queue.add(Job::Span(Box::new(span)));
    }
}
