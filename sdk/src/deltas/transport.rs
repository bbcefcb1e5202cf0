//! The traits of a transport of deltas, and the transport within the process.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use serde_json::Value;
use temporal_agents_core::wire::RunEvent;
use temporalio_sdk::activities::ActivityContext;

use super::{carrier::CarriedCall, details::HeartbeatDetails};
use crate::metrics::Metrics;

/// Takes the deltas of a worker's activities to their readers
/// ([`AgentsPlugin::deltas`](crate::AgentsPlugin::deltas)).
///
/// Delivery is best effort: a batch is passed to a transport once, and neither a lost batch nor a
/// panic of [`open`](Self::open) or of a channel fails an activity. The other methods must not
/// panic. A transport must bound what it holds for slow readers. A delta is a
/// [`RunEvent`](temporal_agents_core::wire::RunEvent) of a kind whose name ends in `delta`.
pub trait DeltaTransport: Send + Sync {
    /// Opens the channel of one attempt at an activity. Called with the first delta of the attempt.
    fn open(&self, source: &DeltaSource) -> Box<dyn DeltaChannel>;

    /// Returns the time between two batches of an attempt. Default 100 ms.
    fn interval(&self) -> Duration {
        Duration::from_millis(100)
    }

    /// Returns `true` if readers may receive nothing but deltas: a call that has succeeded then
    /// waits, for 1 s at most, until its last batch is sent. Default `false`: the answer in history
    /// supersedes what was not sent.
    fn waits_for_last_batch(&self) -> bool {
        false
    }

    /// Returns `true` if the batches also have the provider's own events
    /// ([`DeltaBatch::native`]). Default `false`.
    fn wants_native(&self) -> bool {
        false
    }
}

/// The channel of one attempt.
pub trait DeltaChannel: Send {
    /// Sends a batch, and waits until it is delivered. The deltas that are made meanwhile are in
    /// the next batch. Returns `false` if the batch is lost: the attempt then sends no more.
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool>;
}

/// The deltas of an attempt since the batch before.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DeltaBatch {
    /// The deltas, in their order. Their ids are `<id of the call>#<attempt>.<number>`, numbered
    /// from 0.
    pub events: Vec<RunEvent>,
    /// The events of the provider's own stream, unchanged, for a transport that
    /// [wants them](DeltaTransport::wants_native): those of OpenAI's Responses API. Never those of
    /// an agent with output guardrails, or of a call that received values of worker variables.
    pub native: Vec<Value>,
}

/// An attempt at an activity that makes deltas.
#[derive(Clone)]
pub struct DeltaSource {
    pub(super) ctx: Arc<ActivityContext>,
    pub(super) details: HeartbeatDetails,
    /// Set for a call within an activity that sends the heartbeats.
    pub(super) carried: Option<CarriedCall>,
}

impl DeltaSource {
    /// Returns the context of the activity: its client, and the ids of activity and workflow.
    pub fn activity(&self) -> &ActivityContext {
        &self.ctx
    }
}

/// A transport to a function in the process of the worker: for a service that runs workers and
/// readers in one process. Costs no request and no event in history.
///
/// ```
/// use temporal_agents::{AgentsPlugin, Resources, worker::InProcessDeltas};
/// # fn example(resources: Resources) -> AgentsPlugin {
///
/// AgentsPlugin::new(resources)
///     .deltas(InProcessDeltas::new(|event| println!("{}", event.kind.name())))
/// # }
/// ```
#[derive(Clone)]
pub struct InProcessDeltas(Arc<dyn Fn(&RunEvent) + Send + Sync>);

impl InProcessDeltas {
    /// Creates a transport to this function. It must not block: pass the events to a channel.
    pub fn new(receive: impl Fn(&RunEvent) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receive))
    }
}

impl DeltaTransport for InProcessDeltas {
    fn open(&self, _source: &DeltaSource) -> Box<dyn DeltaChannel> {
        Box::new(self.clone())
    }

    fn interval(&self) -> Duration {
        // A call of a function costs nothing: it receives each delta at once, and the last ones.
        Duration::ZERO
    }

    fn waits_for_last_batch(&self) -> bool {
        true
    }
}

impl DeltaChannel for InProcessDeltas {
    fn send(&mut self, batch: DeltaBatch) -> BoxFuture<'_, bool> {
        for event in &batch.events {
            (self.0)(event);
        }
        std::future::ready(true).boxed()
    }
}

/// The transports of a worker; without one, its activities make no deltas.
#[derive(Clone, Default)]
pub(crate) struct Deltas {
    pub(crate) of_worker: Option<Arc<dyn DeltaTransport>>,
    /// By agent; `None` for an agent without deltas.
    pub(crate) of_agents: BTreeMap<String, Option<Arc<dyn DeltaTransport>>>,
    /// Counts the attempts whose deltas are lost.
    pub(crate) metrics: Option<Metrics>,
}

impl Deltas {
    /// Returns the transport of this agent's calls.
    pub(super) fn of(&self, agent: &str) -> Option<&Arc<dyn DeltaTransport>> {
        self.of_agents.get(agent).unwrap_or(&self.of_worker).as_ref()
    }
}

impl fmt::Debug for InProcessDeltas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InProcessDeltas(..)")
    }
}

impl fmt::Debug for DeltaSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaSource").field("activity_id", &self.ctx.info().activity_id).finish_non_exhaustive()
    }
}
