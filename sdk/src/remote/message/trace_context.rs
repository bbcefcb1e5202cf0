//! The trace context of a call, in the headers of W3C.

#[cfg(feature = "otel")]
use opentelemetry::{
    Context,
    propagation::{Injector, TextMapPropagator},
};
#[cfg(feature = "otel")]
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

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
    /// Returns the context of the span in which the caller's code runs; empty without one.
    #[cfg(feature = "otel")]
    pub(in crate::remote) fn current() -> Self {
        let mut fields = Fields(Self::default());
        let context = Context::current();
        TraceContextPropagator::new().inject_context(&context, &mut fields);
        BaggagePropagator::new().inject_context(&context, &mut fields);
        fields.0
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

/// The headers that the propagators of OpenTelemetry write.
#[cfg(feature = "otel")]
struct Fields(TraceContext);

#[cfg(feature = "otel")]
impl Injector for Fields {
    fn set(&mut self, name: &str, value: String) {
        match name {
            "traceparent" => self.0.traceparent = value,
            "tracestate" => self.0.tracestate = value,
            "baggage" => self.0.baggage = value,
            _ => {}
        }
    }
}
