//! Limits of a tool: the size and content of its outputs, and its parallel calls.

use serde_json::Value;

use super::{ToolDef, ToolIssue};
use crate::tool::{OversizedOutput, ToolBinding, redaction::Redaction};

impl ToolDef {
    /// Sets the handling of an output that is larger than
    /// [`max_output_bytes`](Self::max_output_bytes). Default: the call fails, and the model gets a
    /// message about the size.
    #[must_use]
    pub fn oversized_output(mut self, oversized: OversizedOutput) -> Self {
        self.output_limit.above = oversized;
        self.issues.retain(|issue| *issue != ToolIssue::SpillWithoutActivity);
        // Only a body that the worker runs can write to the store.
        let has_a_store = matches!(self.binding, ToolBinding::Activity { .. } | ToolBinding::Mcp(_));
        if oversized == OversizedOutput::Spill && !has_a_store {
            self.issues.push(ToolIssue::SpillWithoutActivity);
        }
        self
    }

    /// Sets the most bytes of JSON that one output may have. Default 2,000,000, just below the
    /// server's limit; 100,000 for a tool that is a local activity. Local calls run at the same
    /// time as long as the sum of their limits is at most 1,000,000 bytes.
    ///
    /// Set more only behind a codec that makes payloads smaller: the measured size is that of the
    /// JSON before the codec.
    #[must_use]
    pub fn max_output_bytes(mut self, bytes: usize) -> Self {
        self.output_limit.bytes = bytes;
        self.has_explicit_limit = true;
        self
    }

    /// Removes from everything the tool returns what must not be recorded: from outputs, error
    /// messages, panics, and changes to the run context. The function is called where the body
    /// runs, for each string and each number, before anything reaches history, logs, guardrails or
    /// the model. A number that it changes becomes a string.
    ///
    /// # Determinism
    /// For an inline tool the function runs in the workflow, and again on replay.
    #[must_use]
    pub fn redact(mut self, redact: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.redaction = Some(Redaction::new(redact));
        self
    }

    /// Declares that each output is a part of a whole, or all of it: a page of a list, the start of
    /// a file. The body states which with
    /// [`ToolContext::set_bounds`](crate::tool::ToolContext::set_bounds), and the model reads it in the
    /// output: `returned`, `total`, `truncated`, `next_cursor`, `refinement_hint`. A call without
    /// bounds fails, and so does one whose output is truncated without a cursor or a hint.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.is_bounded = true;
        self
    }

    /// Sets the JSON Schema of the output, which a `ToolProvider` publishes.
    /// Callers in other programs validate results against it. The tool itself does not check what it
    /// returns.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Sets the most calls of this tool in one response that run at the same time, at least one;
    /// the others wait, in call order. Default: all.
    #[must_use]
    pub fn max_parallel(mut self, calls: usize) -> Self {
        self.side_by_side.most = Some(calls);
        self
    }

    /// Runs the calls of this tool in one response one after another, in call order.
    #[must_use]
    pub fn serial(self) -> Self {
        self.max_parallel(1)
    }

    /// Runs the calls of all tools of this class in one response one after another, in call order:
    /// for tools that write to the same resource.
    #[must_use]
    pub fn exclusive(mut self, class: impl Into<String>) -> Self {
        self.side_by_side.class = Some(class.into());
        self
    }
}
