//! The connection of runs outside of workflows to traces.

use std::{fmt, sync::Arc};

use super::EventSink;
use crate::wire::TraceSettings;

/// Makes the spans of runs outside of workflows: `Tracing::tracer` returns it (feature `otel`).
#[derive(Clone)]
pub struct RunTracer(Arc<Begin>);

type Begin = dyn Fn(&TracedRun<'_>) -> Option<EventSink> + Send + Sync;

/// A run that begins.
#[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces read it"))]
pub(crate) struct TracedRun<'r> {
    pub(crate) settings: &'r TraceSettings,
    /// The ids of the workflow, its run and the activity in which the run of agents is.
    pub(crate) activity: Option<[String; 3]>,
}

impl RunTracer {
    /// Creates a tracer from a function that returns the receiver of a run's events; `None` if the
    /// run has no spans.
    #[cfg_attr(not(feature = "otel"), expect(dead_code, reason = "traces make it"))]
    pub(crate) fn new(begin: impl Fn(&TracedRun<'_>) -> Option<EventSink> + Send + Sync + 'static) -> Self {
        Self(Arc::new(begin))
    }

    /// Returns the receiver of the events of a run that begins in the caller's code.
    pub(crate) fn begin(&self, run: &TracedRun<'_>) -> Option<EventSink> {
        (self.0)(run)
    }
}

impl fmt::Debug for RunTracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunTracer").finish_non_exhaustive()
    }
}
