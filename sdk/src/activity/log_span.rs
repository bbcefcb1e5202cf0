//! The span in which the log lines of an activity are written.

use std::sync::Arc;

use futures::FutureExt;
use serde::Deserialize;
use temporal_agents_core::wire::Json;
use tracing::{Instrument, field::Empty};

use super::{message::Request, registration::Body};

/// The members of a request that the span has. Requests without them leave the fields empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    agent: Option<String>,
    turn: Option<u32>,
    tool: Option<String>,
    call_id: Option<String>,
}

/// Returns the body of an activity whose log lines are in a span `activity`, of level warning, with
/// workflow, run, activity, attempt, agent, turn and call.
pub(crate) fn in_span(body: Body) -> Body {
    Arc::new(move |ctx, request| {
        let info = ctx.info();
        let span = tracing::warn_span!(
            "activity",
            workflow_id = info.workflow_id.as_deref().unwrap_or_default(),
            run_id = info.workflow_run_id.as_deref().unwrap_or_default(),
            activity = info.activity_type,
            activity_id = info.activity_id,
            attempt = info.attempt,
            agent = Empty,
            turn = Empty,
            tool = Empty,
            call_id = Empty,
        );
        // The request is read once more, only for a subscriber that wants the span.
        if !span.is_disabled() {
            let Names { agent, turn, tool, call_id } = names_of(&request).unwrap_or_default();
            span.record("agent", agent).record("turn", turn).record("tool", tool).record("call_id", call_id);
        }
        let entered = span.enter();
        let running = body(ctx, request);
        drop(entered);
        running.instrument(span).boxed()
    })
}

fn names_of(request: &Request) -> Option<Names> {
    match &request.0 {
        Json::Text(text) => serde_json::from_slice(text).ok(),
        Json::Value(value) => Names::deserialize(value).ok(),
    }
}
