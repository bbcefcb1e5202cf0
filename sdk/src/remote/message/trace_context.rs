//! The trace context of a call, in the headers of W3C.

/// The trace that a call is a part of: the values of the headers `traceparent`, `tracestate` and
/// `baggage`. They are passed on as they came; a string that is empty has no meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// The value of `traceparent`.
    pub traceparent: String,
    /// The value of `tracestate`.
    pub tracestate: String,
    /// The value of `baggage`.
    pub baggage: String,
}

impl TraceContext {
    /// Returns the context that came with a call, or this one where none came.
    #[must_use]
    pub fn extract(self, came: Self) -> Self {
        if came.traceparent.is_empty() && came.baggage.is_empty() { self } else { came }
    }
}
