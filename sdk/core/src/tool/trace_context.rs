//! The trace context of a call, in the headers of W3C.

use std::collections::BTreeMap;

/// The trace that a call is a part of: the values of the headers `traceparent`, `tracestate` and
/// `baggage`. They are passed on as they came; a string that is empty has no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceContext {
    /// The value of `traceparent`.
    pub traceparent: String,
    /// The value of `tracestate`.
    pub tracestate: String,
    /// The value of `baggage`.
    pub baggage: String,
}

impl TraceContext {
    /// Parses the context in a header, JSON with `traceparent`, `tracestate` and `baggage`; `None` without
    /// a `traceparent`.
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        let mut fields: BTreeMap<String, String> = serde_json::from_slice(json).ok()?;
        let traceparent = fields.remove("traceparent").filter(|traceparent| !traceparent.is_empty())?;
        let mut field = |name: &str| fields.remove(name).unwrap_or_default();
        Some(Self { traceparent, tracestate: field("tracestate"), baggage: field("baggage") })
    }

    /// Returns this context with the headers of a received one: its trace and its baggage each
    /// replace those of this context unless they are empty.
    #[must_use]
    pub fn extract(self, received: Self) -> Self {
        let of_trace = if received.traceparent.is_empty() { &self } else { &received };
        let (traceparent, tracestate) = (of_trace.traceparent.clone(), of_trace.tracestate.clone());
        let baggage = if received.baggage.is_empty() { self.baggage } else { received.baggage };
        Self { traceparent, tracestate, baggage }
    }
}
