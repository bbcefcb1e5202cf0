//! The context of a trace in a header, as the SDKs of Temporal send it: fields of W3C Trace Context
//! and W3C Baggage as JSON.

use std::collections::HashMap;

use opentelemetry::Context;
use serde_json::json;
use temporal_agents_core::{
    tool::trace_context::TraceContext,
    wire::{TraceSettings, trace_settings::TRACER_DATA},
};
use temporalio_common::protos::temporal::api::common::v1::Payload;

use crate::trace::{
    ids::{Caller, SpanId, TraceId},
    propagation,
};

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// Id of the span of the workflow, in the header of its next execution. A caller with this id is
/// the workflow itself, whose trace gives way to one that a run names.
const WORKFLOW: &str = "temporal-agents-workflow";

/// Maximum bytes of `tracestate`, and of `baggage`: the limit of W3C Baggage. Each activity of a
/// run repeats them in history, so that a longer one is not passed on.
const MAX_FIELD_BYTES: usize = 8_192;

/// Maximum bytes of the values of a context in the headers of a Nexus operation: half of what
/// servers accept of all headers together.
#[cfg(feature = "nexus")]
const MAX_NEXUS_BYTES: usize = 2_048;

/// A context of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SentContext {
    /// The trace, and the span that is the parent.
    pub(super) caller: Caller,
    /// Id of the span of the workflow, if the header is that of a later execution.
    pub(super) workflow: Option<SpanId>,
    tracestate: Option<String>,
    baggage: Option<String>,
}

impl SentContext {
    /// Reads the context in these headers; without one, that of a trace of the workflow itself.
    pub(super) fn or_own(headers: &HashMap<String, Payload>, own: Caller) -> Self {
        let mut fields = fields_of(headers).unwrap_or_default();
        let sent = fields.get(TRACEPARENT).and_then(|traceparent| Caller::of_traceparent(traceparent));
        let mut field = |name: &str| fields.remove(name).filter(|value| value.len() <= MAX_FIELD_BYTES);
        let (tracestate, baggage) = (field(TRACESTATE).filter(|_| sent.is_some()), field(BAGGAGE));
        let workflow = fields.get(WORKFLOW).and_then(|id| SpanId::of_hex(id)).unwrap_or(own.span);
        Self { caller: sent.unwrap_or(own), workflow: Some(workflow), tracestate, baggage }
    }

    /// Reads the context in these headers.
    pub(super) fn of(headers: &HashMap<String, Payload>) -> Option<Self> {
        let caller = Caller::of_traceparent(fields_of(headers)?.get(TRACEPARENT)?)?;
        Some(Self::or_own(headers, caller))
    }

    /// Returns `true` if the workflow itself has begun the trace.
    pub(super) fn is_own(&self) -> bool {
        self.workflow == Some(self.caller.span)
    }

    /// Returns the context of what a run with these settings schedules: below this caller, and in
    /// the trace that the run names unless the workflow is part of another. Without spans of the
    /// run, it is not sampled.
    pub(super) fn of_run(&self, span: SpanId, settings: Option<&TraceSettings>) -> Self {
        let mut context = Self { caller: Caller { span, ..self.caller }, workflow: None, ..self.clone() };
        let Some(settings) = settings else { return context };
        if let (true, Some(trace)) = (self.is_own(), settings.trace()) {
            context.caller.trace = TraceId(trace);
        }
        context.caller.is_sampled &= !settings.disabled;
        context
    }

    /// Returns the value of the header.
    pub(super) fn to_payload(&self) -> Payload {
        let mut fields = json!({ TRACEPARENT: self.caller.to_traceparent() });
        let others = [(TRACESTATE, self.tracestate.as_deref()), (BAGGAGE, self.baggage.as_deref())];
        for (name, value) in others {
            if let Some(value) = value {
                fields[name] = value.into();
            }
        }
        if let Some(workflow) = self.workflow {
            fields[WORKFLOW] = workflow.to_hex().into();
        }
        let encoding = [("encoding".to_owned(), b"json/plain".to_vec())];
        let data = fields.to_string().into_bytes();
        Payload { metadata: encoding.into_iter().collect(), data, ..Payload::default() }
    }

    /// Returns the fields in W3C form, by their names, for the headers of a Nexus operation. The
    /// server rejects headers that are large together, and with them the workflow task: state and
    /// baggage are then left out.
    #[cfg(feature = "nexus")]
    pub(super) fn to_nexus_fields(&self) -> HashMap<String, String> {
        let mut fields = HashMap::from([(TRACEPARENT.to_owned(), self.caller.to_traceparent())]);
        fields.extend(self.tracestate.clone().map(|state| (TRACESTATE.to_owned(), state)));
        fields.extend(self.baggage.clone().map(|baggage| (BAGGAGE.to_owned(), baggage)));
        let is_visible = |value: &String| value.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        let bytes: usize = fields.values().map(String::len).sum();
        if bytes > MAX_NEXUS_BYTES || !fields.values().all(is_visible) {
            fields.retain(|name, _| name == TRACEPARENT);
        }
        fields
    }

    /// Returns the context of code below this span.
    pub(super) fn to_context(&self) -> Context {
        let field = |value: &Option<String>| value.clone().unwrap_or_default();
        let (tracestate, baggage) = (field(&self.tracestate), field(&self.baggage));
        propagation::to_context(&TraceContext { traceparent: self.caller.to_traceparent(), tracestate, baggage })
    }
}

fn fields_of(headers: &HashMap<String, Payload>) -> Option<HashMap<String, String>> {
    serde_json::from_slice(&headers.get(TRACER_DATA)?.data).ok()
}

#[cfg(test)]
mod tests;
