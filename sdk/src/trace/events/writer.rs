//! The ids, the parents and the attributes of what has ended in a run.

use std::{sync::Arc, time::SystemTime};

use opentelemetry::{
    Context,
    trace::{SpanContext, TraceContextExt, TraceFlags},
};
use serde_json::Value;
use temporal_agents_core::wire::{RecordedFailure, TraceSettings};

use crate::{
    events::{AttemptOf, TracedRun, is_aside},
    trace::{
        attributes::{Described, content},
        ids::{Caller, Execution, SpanId, TraceId},
        live::{Job, Queue},
        span::Span,
    },
};

/// Sends the spans of one run.
#[derive(Clone)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    caller: Option<Caller>,
    settings: TraceSettings,
    is_captured: bool,
    workflow_id: String,
    run_id: String,
    activity_id: String,
}

/// A span that has ended.
pub(super) struct Ended<'e> {
    pub(super) described: Described,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    pub(super) times: (SystemTime, SystemTime),
    pub(super) failure: Option<&'e RecordedFailure>,
    /// Names and values of content.
    pub(super) content: Vec<(&'static str, Value)>,
}

impl Writer {
    /// Creates the writer of a run; `None` if the run has no spans.
    pub(super) fn new(
        queue: &Arc<Queue>,
        run: &TracedRun<'_>,
        caller: Option<Caller>,
        is_captured: bool,
    ) -> Option<Self> {
        if run.settings.disabled || caller.is_some_and(|caller| !caller.is_sampled) {
            return None;
        }
        let [workflow_id, run_id, activity_id] = run.activity.clone().unwrap_or_default();
        let (queue, settings) = (Arc::clone(queue), run.settings.clone());
        Some(Self { queue, caller, settings, is_captured, workflow_id, run_id, activity_id })
    }

    /// Returns the ids of the spans of this run: those of its activity, or drawn with the run.
    pub(super) fn execution<'i>(&'i self, run: &'i str) -> Execution<'i> {
        let run_id = if self.run_id.is_empty() { run } else { &self.run_id };
        Execution { workflow_id: &self.workflow_id, run_id, first_run_id: run_id }
    }

    /// Returns the name of the whole run.
    pub(super) fn name(&self) -> &str {
        self.settings.workflow_name.as_deref().unwrap_or("Agent workflow")
    }

    /// Returns the id of the activity in which the run is; empty without one.
    pub(super) fn activity_id(&self) -> &str {
        &self.activity_id
    }

    /// Returns the id of the span of the whole run.
    pub(super) fn root(&self, run: &str) -> SpanId {
        self.execution(run).call(run)
    }

    /// Returns the parent of that span.
    pub(super) fn parent_of_root(&self) -> Option<SpanId> {
        self.caller.map(|caller| caller.span)
    }

    /// Returns the trace of the spans.
    fn trace(&self, run: &str) -> TraceId {
        let of_run = || Execution { workflow_id: "", run_id: run, first_run_id: run }.trace();
        let named = self.caller.map(|caller| caller.trace).or_else(|| self.settings.trace().map(TraceId));
        named.unwrap_or_else(of_run)
    }

    /// Returns the context of the code of an attempt, below the caller's.
    pub(super) fn context(&self, caller: &Context, attempt: &AttemptOf<'_>) -> Context {
        let AttemptOf { run, call, attempt } = *attempt;
        let (trace, execution) = (self.trace(run), self.execution(run));
        // A guardrail has one span for all its attempts.
        let is_whole = call.rsplit('/').next().is_some_and(is_aside);
        let span = if is_whole { execution.call(call) } else { execution.attempt(call, attempt) };
        let state = caller.span().span_context().trace_state().clone();
        let (trace, span) = (opentelemetry::TraceId::from_bytes(trace.0), opentelemetry::SpanId::from_bytes(span.0));
        caller.with_remote_span_context(SpanContext::new(trace, span, TraceFlags::SAMPLED, false, state))
    }

    /// Sends a span of this run.
    pub(super) fn send(&self, run: &str, ended: Ended<'_>) {
        let Ended { described, id, parent, times, failure, content: contents } = ended;
        let mut span = Span::new(self.trace(run), id, parent, times, described)
            .failed(failure, self.is_captured)
            .labelled(Some(&self.settings));
        for (name, value) in contents {
            content(&mut span, self.is_captured, name, Some(&value));
        }
        self.queue.add(Job::Span(Box::new(span)));
    }
}
