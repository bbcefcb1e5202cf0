//! The spans of runs outside of workflows, made of their events: runs in this process, sessions.
//!
//! # Design
//! **The events of a run are the same on every host,** so one reader makes the spans of all hosts
//! without a history. A session repeats the events of earlier attempts with their ids and times:
//! their spans come again, with the same ids.
//!
//! **The parent is the context that the caller has set,** as in any code that makes spans: the
//! current one where the request is awaited. Nothing is guessed of workflow or activity.
//!
//! **Code of an attempt runs in the context of the attempt's span,** with the baggage of the
//! caller, on whatever thread polls it. In a run without spans it runs in the caller's context.
//!
//! MCP servers' lists, and the server of a tool, are in no event: these spans, and the attributes
//! of MCP, are those of workflows only.
//!
//! | file | content |
//! |---|---|
//! | `reader.rs` | from events to what ends: calls, attempts, waits, the whole run |
//! | `agents.rs` | the agents, in their runs and around them |
//! | `tools.rs` | the calls of tools among them |
//! | `asides.rs` | guardrails, and calls of session stores |
//! | `writer.rs` | their ids, parents and attributes |

mod agents;
mod asides;
mod reader;
mod tools;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::{Context, trace::TraceContextExt};
use temporal_agents_core::wire::RunEvent;

use self::{reader::Reader, writer::Writer};
use super::{
    attributes::may_have_content,
    ids::{Caller, SpanId, TraceId},
    live::Queue,
};
use crate::events::{Aside, AttemptContext, AttemptOf, RunObserver, RunTracer};

/// Returns the maker of the traces of runs.
pub(super) fn tracer(queue: Arc<Queue>) -> RunTracer {
    RunTracer::new(move |run| {
        let context = Context::current();
        let is_captured = queue.is_captured && may_have_content(Some(run.settings));
        Some(match Writer::new(&queue, run, caller(&context), is_captured) {
            Some(writer) => {
                let reader = Arc::new(Mutex::new(Reader::new(writer.clone())));
                let of_asides = Arc::clone(&reader);
                let contexts = move |attempt: AttemptOf<'_>| entered(writer.context(&context, &attempt));
                RunObserver {
                    sink: Some(Arc::new(move |event: &RunEvent| locked(&reader).take(event))),
                    contexts: Arc::new(contexts),
                    asides: Some(Arc::new(move |aside: &Aside<'_>| locked(&of_asides).aside(aside))),
                }
            }
            // Spans of the author's code are below the caller's, sampled or not.
            None => RunObserver { sink: None, contexts: Arc::new(move |_| entered(context.clone())), asides: None },
        })
    })
}

/// Returns a context in the form that the run uses.
fn entered(context: Context) -> AttemptContext {
    AttemptContext::new(move || Box::new(context.clone().attach()))
}

/// Returns the span in which the caller's code runs.
fn caller(context: &Context) -> Option<Caller> {
    let span = context.span().span_context().clone();
    span.is_valid().then(|| Caller {
        trace: TraceId(span.trace_id().to_bytes()),
        span: SpanId(span.span_id().to_bytes()),
        is_sampled: span.is_sampled(),
    })
}

fn locked(reader: &Mutex<Reader>) -> MutexGuard<'_, Reader> {
    reader.lock().unwrap_or_else(PoisonError::into_inner)
}
