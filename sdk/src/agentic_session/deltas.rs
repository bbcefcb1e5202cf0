//! The deltas of a session's calls for readers outside of the run: tokens of models, and what tools
//! send.
//!
//! # Design
//! **Deltas come from the events of the run.** A run reports each attempt and each part to its
//! subscriber. A session with a transport has a subscriber of its own, which passes the deltas of
//! each attempt to the transport, and never waits for it.
//!
//! **Attempts are numbered across the attempts of the activity.** Each of these may call the same
//! model several times. Readers need higher numbers for later calls, also after a lost worker, so
//! each attempt of the activity has [`ATTEMPTS`] numbers of its own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use temporal_agents_core::wire::{EventKind, RunEvent};
use temporalio_sdk::activities::ActivityContext;
use tokio::runtime::Handle;

use super::{delta_heartbeats::DeltaHeartbeats, writer::Writer};
use crate::{
    deltas::{Batches, DeltaSource, DeltaTransport, WindowCarrier},
    events::{EventSink, attempt_id, fact_id, fact_id_at},
};

/// The numbers that each attempt of the activity has for its attempts at one call. Attempts beyond
/// them send no deltas.
const ATTEMPTS: u32 = 100;

/// The deltas of a session. They end with it.
pub(super) struct SessionDeltas {
    transport: Arc<dyn DeltaTransport>,
    ctx: Arc<ActivityContext>,
    heartbeats: Arc<DeltaHeartbeats>,
    /// Runs the tasks that send batches: parts may arrive on any thread.
    runtime: Handle,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// The calls that are under way, by the id with which their facts begin.
    open: BTreeMap<String, OpenCall>,
    /// The ids of tool calls, by run and the id that the model has chosen: models of parallel runs
    /// may choose the same.
    tools: BTreeMap<String, String>,
}

/// The current attempt at a call.
struct OpenCall {
    attempt: u32,
    batches: Batches,
}

impl SessionDeltas {
    /// Creates the deltas of a session whose checkpoints this writer sends.
    pub(super) fn new(transport: Arc<dyn DeltaTransport>, ctx: &ActivityContext, writer: &Arc<Writer>) -> Self {
        Self {
            transport,
            ctx: Arc::new(ctx.clone()),
            heartbeats: Arc::new(DeltaHeartbeats::new(writer)),
            runtime: Handle::current(),
            calls: Mutex::default(),
        }
    }

    /// Returns a subscriber that passes each event on to `subscriber`, and deltas to the transport.
    pub(super) fn with(self: &Arc<Self>, subscriber: Option<EventSink>) -> EventSink {
        let deltas = Arc::downgrade(self);
        Arc::new(move |event| {
            // A tool that outlives its session sends nothing more.
            if let Some(deltas) = deltas.upgrade() {
                deltas.pass(event);
            }
            if let Some(subscriber) = &subscriber {
                subscriber(event);
            }
        })
    }

    /// Records the id of a tool call of `run` that begins, as its facts have it: the deltas of a
    /// tool do not name it.
    pub(super) fn tool_begins(&self, run: &str, call_id: &str, effect: &str) {
        self.lock().tools.insert(fact_id(run, call_id), fact_id(run, effect));
    }

    fn pass(&self, event: &RunEvent) {
        let call_of_fact = |end: &str| event.id.strip_suffix(end);
        match &event.kind {
            EventKind::ModelCallAnswered { .. } => self.end(call_of_fact("/answered"), true),
            EventKind::ModelCallFailed { .. } | EventKind::ToolFailed { .. } => {
                self.end(call_of_fact("/failed"), false);
            }
            EventKind::ToolOutput { .. } => self.end(call_of_fact("/output"), true),
            _ if event.is_delta() => self.delta(event),
            _ => {}
        }
    }

    fn delta(&self, event: &RunEvent) {
        let mut event = event.clone();
        let mut calls = self.lock();
        let Some(call) = calls.call_of(&event) else { return };
        let Some(attempt) = attempt_of(&mut event.kind).filter(|attempt| **attempt <= ATTEMPTS) else { return };
        *attempt += self.ctx.info().attempt.saturating_sub(1).saturating_mul(ATTEMPTS);
        let attempt = *attempt;
        let is_open = calls.open.get(&call).is_some_and(|open| open.attempt == attempt);
        if !is_open && matches!(event.kind, EventKind::AttemptDelta { failure: None, .. }) {
            let batches = self.start(&call, attempt);
            calls.open.insert(call.clone(), OpenCall { attempt, batches });
        }
        if let Some(open) = calls.open.get(&call).filter(|open| open.attempt == attempt) {
            open.batches.add(event);
        }
    }

    fn start(&self, call: &str, attempt: u32) -> Batches {
        let carrier: Arc<dyn WindowCarrier> = Arc::<DeltaHeartbeats>::clone(&self.heartbeats);
        let source = DeltaSource::within(&self.ctx, (call, attempt), carrier);
        let _entered = self.runtime.enter();
        Batches::start(Arc::clone(&self.transport), source, attempt_id(call, attempt), None)
    }

    /// Ends the deltas of a call. Those that wait are sent if the call has succeeded, and if the
    /// transport sends them; the run does not wait for it.
    fn end(&self, call: Option<&str>, has_succeeded: bool) {
        let Some(call) = call else { return };
        let mut calls = self.lock();
        calls.tools.retain(|_, id| id != call);
        let Some(OpenCall { batches, .. }) = calls.open.remove(call) else { return };
        drop(calls);
        self.heartbeats.end(call);
        if has_succeeded && self.transport.waits_for_last_batch() {
            self.runtime.spawn(async move { batches.finish().await });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Calls {
    /// Returns the id of the call of a delta.
    fn call_of(&self, event: &RunEvent) -> Option<String> {
        match &event.kind {
            EventKind::AttemptDelta { effect, .. } => Some(fact_id_at(&event.run, &event.path, effect)),
            EventKind::TextDelta { message_id, .. }
            | EventKind::ReasoningDelta { message_id, .. }
            | EventKind::ToolArgumentsDelta { message_id, .. } => {
                message_id.rsplit_once('/').map(|(call, _)| call.to_owned())
            }
            EventKind::ToolOutputDelta { call_id, .. } | EventKind::EmittedDelta { call_id, .. } => {
                self.tools.get(&fact_id_at(&event.run, &event.path, call_id)).cloned()
            }
            _ => None,
        }
    }
}

/// Returns the attempt of a delta.
fn attempt_of(kind: &mut EventKind) -> Option<&mut u32> {
    match kind {
        EventKind::AttemptDelta { attempt, .. }
        | EventKind::TextDelta { attempt, .. }
        | EventKind::ReasoningDelta { attempt, .. }
        | EventKind::ToolArgumentsDelta { attempt, .. }
        | EventKind::ToolOutputDelta { attempt, .. }
        | EventKind::EmittedDelta { attempt, .. } => Some(attempt),
        _ => None,
    }
}
