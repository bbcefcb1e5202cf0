//! The connection of runs outside of workflows to traces.

use std::{any::Any, fmt, future::poll_fn, sync::Arc, time::SystemTime};

use temporal_agents_core::wire::{RecordedFailure, TraceSettings};

use super::EventSink;

/// Makes the spans of runs outside of workflows: `Tracing::tracer` returns it (feature `otel`).
#[derive(Clone)]
pub struct RunTracer(Arc<Begin>);

type Begin = dyn Fn(&TracedRun<'_>) -> Option<RunObserver> + Send + Sync;

/// A run that begins.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct TracedRun<'r> {
    pub(crate) settings: &'r TraceSettings,
    /// The ids of the workflow, its run and the activity in which the run of agents is.
    pub(crate) activity: Option<[String; 3]>,
}

/// The trace of a run.
#[derive(Clone)]
pub(crate) struct RunObserver {
    /// Receives facts and attempts; `None` if the run has no spans.
    pub(crate) sink: Option<EventSink>,
    /// Returns the context of the code of an attempt.
    pub(crate) contexts: Arc<AttemptContexts>,
    /// Receives effects that no fact reports; `None` if the run has no spans.
    pub(crate) asides: Option<Arc<Asides>>,
}

type Asides = dyn Fn(&Aside<'_>) + Send + Sync;

/// An effect of a run that no fact reports: a guardrail in an activity, or a call of a session
/// store.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct Aside<'a> {
    /// Id of the outermost run.
    pub(crate) run: &'a str,
    /// The path of the run among nested runs.
    pub(crate) path: Vec<String>,
    pub(crate) kind: AsideKind<'a>,
    pub(crate) times: (SystemTime, SystemTime),
    pub(crate) failure: Option<RecordedFailure>,
}

/// The kind of an effect that no fact reports.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) enum AsideKind<'a> {
    Guardrail {
        /// Id of the effect in its own run.
        effect: &'a str,
        name: &'a str,
        /// The verdict, if the guardrail has returned one.
        triggered: Option<bool>,
    },
    /// An effect that an earlier attempt of a session has reported: a guardrail with this name, if
    /// it has tripped, or any other.
    Earlier { tripped: Option<&'a str> },
    /// A read of a session store, or the write with this number in the run.
    Session { write: Option<u32> },
}

type AttemptContexts = dyn Fn(AttemptOf<'_>) -> AttemptContext + Send + Sync;

/// An attempt at a call.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct AttemptOf<'a> {
    pub(crate) run: &'a str,
    /// Id of the call in facts.
    pub(crate) call: &'a str,
    pub(crate) attempt: u32,
}

/// The context of the code of an attempt: spans that it opens are below the span of the attempt.
#[derive(Clone)]
pub(crate) struct AttemptContext(Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>);

impl AttemptContext {
    /// Creates a context from a function that makes it the current one of its thread, until what
    /// it returns is dropped.
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces make it"))]
    pub(crate) fn new(enter: impl Fn() -> Box<dyn Any> + Send + Sync + 'static) -> Self {
        Self(Arc::new(enter))
    }
}

/// Runs a future in the context of an attempt.
pub(crate) async fn within<F: Future>(context: Option<AttemptContext>, future: F) -> F::Output {
    let Some(AttemptContext(enter)) = context else { return future.await };
    let mut future = Box::pin(future);
    poll_fn(move |cx| {
        let _entered = enter();
        future.as_mut().poll(cx)
    })
    .await
}

impl RunTracer {
    /// Creates a tracer from a function that returns the trace of a run; `None` without a
    /// collector.
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces make it"))]
    pub(crate) fn new(begin: impl Fn(&TracedRun<'_>) -> Option<RunObserver> + Send + Sync + 'static) -> Self {
        Self(Arc::new(begin))
    }

    /// Returns the trace of a run that begins in the caller's code.
    pub(crate) fn begin(&self, run: &TracedRun<'_>) -> Option<RunObserver> {
        (self.0)(run)
    }
}

impl fmt::Debug for RunTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunTracer").finish_non_exhaustive()
    }
}
