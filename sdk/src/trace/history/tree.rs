//! The spans of a trace, as they are found.

use std::time::SystemTime;

use temporal_agents_core::wire::{RecordedFailure, TraceSettings};

use crate::{
    client::transcript::{Activity, ToolUse},
    trace::{
        attributes::{Described, content, may_have_content},
        ids::{SpanId, TraceId},
        span::Span,
    },
};

/// The spans so far.
pub(super) struct Tree<'t> {
    pub(super) trace: TraceId,
    /// `true` if spans may have content, as far as their run permits.
    pub(super) captures: bool,
    /// Settings of the run whose spans are added.
    pub(super) settings: Option<&'t TraceSettings>,
    /// `true` if attempts at activities of their own are wanted.
    pub(super) has_attempts: bool,
    pub(super) spans: Vec<Span>,
}

impl Tree<'_> {
    /// Returns `true` if the next spans may have content.
    pub(super) fn is_captured(&self) -> bool {
        self.captures && may_have_content(self.settings)
    }

    /// Returns the times of the last attempt at a call that has ended, if its span is wanted.
    pub(super) fn times_of_attempt(&self, activity: &Activity) -> Option<(SystemTime, SystemTime)> {
        let is_wanted = activity.attempts > 0 && (self.has_attempts || activity.times.is_batched);
        activity.times.started.zip(activity.times.ended).filter(|_| is_wanted)
    }

    /// Adds a span, and returns it.
    pub(super) fn add(
        &mut self,
        described: Described,
        id: SpanId,
        parent: Option<SpanId>,
        times: (SystemTime, SystemTime),
        failure: Option<&RecordedFailure>,
    ) -> &mut Span {
        let span = Span::new(self.trace, id, parent, times, described).failed(failure, self.is_captured());
        self.spans.push(span.labelled(self.settings));
        self.spans.last_mut().expect("it was just added")
    }

    /// Adds the arguments and the output of a call to the span that was added last.
    pub(super) fn add_content_of(&mut self, tool: &ToolUse) {
        let is_captured = self.is_captured();
        let Some(span) = self.spans.last_mut() else { return };
        content(span, is_captured, "gen_ai.tool.call.arguments", Some(&tool.arguments));
        content(span, is_captured, "gen_ai.tool.call.result", tool.output.as_ref());
    }
}
