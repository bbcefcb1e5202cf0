//! The conversion of a trace context from and to that of running code.

use opentelemetry::{
    Context,
    propagation::{Extractor, Injector, TextMapPropagator},
};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};
use temporal_agents_core::tool::trace_context::TraceContext;

/// Returns the context of the span in which the caller's code runs; empty without one.
pub(crate) fn current() -> TraceContext {
    let mut fields = Fields(TraceContext::default());
    let context = Context::current();
    TraceContextPropagator::new().inject_context(&context, &mut fields);
    BaggagePropagator::new().inject_context(&context, &mut fields);
    fields.0
}

/// Returns the context of code of the call. Headers that are empty, or cannot be read, change
/// nothing.
pub(crate) fn to_context(trace: &TraceContext) -> Context {
    let fields = Fields(trace.clone());
    let context = TraceContextPropagator::new().extract_with_context(&Context::current(), &fields);
    BaggagePropagator::new().extract_with_context(&context, &fields)
}

/// The headers, as the propagators of OpenTelemetry read and write them.
struct Fields(TraceContext);

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

impl Extractor for Fields {
    fn get(&self, name: &str) -> Option<&str> {
        let value = match name {
            "traceparent" => &self.0.traceparent,
            "tracestate" => &self.0.tracestate,
            "baggage" => &self.0.baggage,
            _ => return None,
        };
        Some(&**value).filter(|value| !value.is_empty())
    }

    fn keys(&self) -> Vec<&str> {
        ["traceparent", "tracestate", "baggage"].into_iter().filter(|name| self.get(name).is_some()).collect()
    }
}
