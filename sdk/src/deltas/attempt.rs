//! The deltas of one attempt at an activity of a worker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use temporal_agents_core::{
    tool::{CallInfo, DeltaTransport, Redaction, ToolDelta},
    wire::{EventKind, ModelCall, RunEvent},
};
use temporalio_sdk::activities::ActivityContext;

use super::{
    batches::Batches,
    carrier::WindowCarrier,
    details::HeartbeatDetails,
    model_events::ModelEvents,
    tool_events::tool_event,
    transport::{self, DeltaSource, Deltas},
};
use crate::{
    events::{CallOfRun, attempt_id, lineage, rfc3339},
    metrics::Metrics,
    provider::{ModelDelta, ModelDeltas},
};

/// The deltas of one attempt. They end with it.
pub(crate) struct AttemptDeltas {
    batches: Batches,
    wants_native: bool,
    details: HeartbeatDetails,
    /// Prefix of the ids of the run's effects.
    run: String,
    effect: String,
    attempt: u32,
    chunks: AtomicUsize,
    characters: AtomicUsize,
}

impl AttemptDeltas {
    /// Starts the deltas of an attempt at a call of this agent; `None` if the agent has no
    /// transport, or if the activity is not one of a run.
    pub(crate) fn start(
        deltas: &Deltas,
        agent: &str,
        ctx: &Arc<ActivityContext>,
        details: &HeartbeatDetails,
    ) -> Option<Arc<Self>> {
        let source = DeltaSource { ctx: Arc::clone(ctx), details: details.clone(), carried: None };
        Self::of_call((Arc::clone(deltas.of(agent)?), deltas.metrics.clone()), &ctx.info().activity_id, source)
    }

    /// Starts the deltas of an attempt at a call of this agent that an activity makes beside
    /// others: `call` is the id of the activity that it would have alone, and `carrier` sends the
    /// heartbeats of the activity.
    pub(crate) fn start_within(
        deltas: &Deltas,
        agent: &str,
        ctx: &Arc<ActivityContext>,
        call: &str,
        carrier: Arc<dyn WindowCarrier>,
    ) -> Option<Arc<Self>> {
        let source = DeltaSource::within(ctx, (call, ctx.info().attempt), carrier);
        Self::of_call((Arc::clone(deltas.of(agent)?), deltas.metrics.clone()), call, source)
    }

    fn of_call(
        (transport, metrics): (Arc<dyn transport::DeltaTransport>, Option<Metrics>),
        call: &str,
        source: DeltaSource,
    ) -> Option<Arc<Self>> {
        let CallOfRun { place, effect, id } = CallOfRun::of(call)?;
        let (attempt, details) = (source.activity().info().attempt, source.details.clone());
        let wants_native = transport.wants_native();
        let ids = attempt_id(&id, attempt);
        Some(Arc::new(Self {
            batches: Batches::start(transport, source, ids, metrics),
            wants_native,
            details,
            run: place.run.to_owned(),
            effect: effect.to_owned(),
            attempt,
            chunks: AtomicUsize::new(0),
            characters: AtomicUsize::new(0),
        }))
    }

    /// Returns the receiver of the parts of this call's answer. The parts of earlier attempts are
    /// superseded when it is created.
    pub(crate) fn of_model(self: &Arc<Self>, call: &ModelCall) -> ModelDeltas {
        let (deltas, agent, turn) = (Arc::clone(self), call.agent.clone(), call.turn);
        let events = ModelEvents::new(&self.run, turn, self.attempt, call.guards_output);
        let begun = EventKind::AttemptDelta {
            effect: self.effect.clone(),
            attempt: self.attempt,
            failure: None,
            next_at: None,
        };
        self.add(&agent, turn, begun);
        // The provider's own events hold the text, which the guardrails have not checked.
        let wants_native = self.wants_native && !call.guards_output;
        let receiver = ModelDeltas::new(move |delta| {
            deltas.count(&delta);
            match delta {
                ModelDelta::Native(event) if wants_native => deltas.batches.add_native(event),
                delta => {
                    if let Some(kind) = events.kind(delta) {
                        deltas.add(&agent, turn, kind);
                    }
                }
            }
        });
        if wants_native { receiver.with_native() } else { receiver }
    }

    /// Ends the deltas of a call that has succeeded.
    pub(crate) async fn finish(&self) {
        self.batches.finish().await;
    }

    /// Returns the receiver of a tool's deltas.
    pub(crate) fn of_tool(self: &Arc<Self>, redactions: Vec<Redaction>) -> Arc<dyn DeltaTransport> {
        Arc::new(ToolDeltas { deltas: Arc::clone(self), redactions })
    }

    fn add(&self, agent: &str, turn: u32, kind: EventKind) {
        let (root, path) = lineage(&self.run);
        let mut event = RunEvent::new(kind);
        (event.run, event.path) = (root, path);
        (event.agent, event.turn, event.time) = (agent.to_owned(), turn, rfc3339(SystemTime::now()));
        self.batches.add(event);
    }

    /// Counts a part, for the heartbeats.
    fn count(&self, delta: &ModelDelta) {
        let (ModelDelta::Text { delta, .. }
        | ModelDelta::Refusal { delta, .. }
        | ModelDelta::Reasoning { delta, .. }
        | ModelDelta::ToolArguments { delta, .. }) = delta
        else {
            return;
        };
        let chunks = self.chunks.fetch_add(1, Ordering::Relaxed) + 1;
        let more = delta.chars().count();
        let characters = self.characters.fetch_add(more, Ordering::Relaxed) + more;
        let progress =
            format!("Streaming LLM response: {} chunks, {} characters", grouped(chunks), grouped(characters));
        self.details.change_later(|window| window.progress = progress);
    }
}

/// Returns a number with commas between groups of three digits.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Passes on the deltas of a tool.
struct ToolDeltas {
    deltas: Arc<AttemptDeltas>,
    redactions: Vec<Redaction>,
}

impl DeltaTransport for ToolDeltas {
    fn send(&self, call: &CallInfo, delta: ToolDelta) {
        self.deltas.add(&call.agent, call.turn, tool_event(call, delta, &self.redactions));
    }
}
