//! An attempt at a tool call.

use std::time::Instant;

use super::{Metrics, instruments::Instruments};

/// The type of the failure of an attempt that was cancelled, or exceeded its time limit.
const STOPPED: &str = "Stopped";

/// An attempt at a tool call in an activity. Dropped before its end, it was stopped.
pub(crate) struct Execution {
    metrics: Metrics,
    tool: String,
    began: Instant,
    has_ended: bool,
}

impl Metrics {
    /// Begins an attempt.
    pub(crate) fn execution(&self, tool: &str) -> Execution {
        Execution { metrics: self.clone(), tool: tool.to_owned(), began: Instant::now(), has_ended: false }
    }
}

impl Execution {
    /// Records the end of the attempt, with the type of its failure.
    pub(crate) fn end(mut self, failure: Option<&str>) {
        self.record(failure);
    }

    fn record(&mut self, failure: Option<&str>) {
        self.has_ended = true;
        let Instruments { meter, tool, .. } = &self.metrics.0.instruments;
        let mut attributes = vec![
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", &*self.tool),
            ("gen_ai.tool.type", "function"),
        ];
        attributes.extend(failure.map(|failure| ("error.type", failure)));
        tool.record(self.began.elapsed().as_secs_f64(), &meter.attributes(&attributes));
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        if !self.has_ended {
            self.record(Some(STOPPED));
        }
    }
}
