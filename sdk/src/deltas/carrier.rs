//! The heartbeats of an activity whose details hold more than deltas: an agentic session, or
//! several tool calls.

use std::sync::Arc;

use futures::future::BoxFuture;
use temporal_agents_core::wire::delta_window::DeltaWindow;
use temporalio_sdk::activities::ActivityContext;

use super::{details::HeartbeatDetails, transport::DeltaSource};

/// Sends heartbeats that carry deltas beside other details.
pub(crate) trait WindowCarrier: Send + Sync {
    /// Sends a heartbeat with this window of a call, and waits until the next one may follow. A
    /// heartbeat that fails is not repeated: the next one carries the same deltas.
    fn carry(&self, call: String, window: DeltaWindow) -> BoxFuture<'_, ()>;
}

/// A call whose deltas another activity carries.
#[derive(Clone)]
pub(super) struct CarriedCall {
    pub(super) call: String,
    pub(super) carrier: Arc<dyn WindowCarrier>,
}

impl DeltaSource {
    /// Creates the source of an attempt at a call within an activity, whose heartbeats `carrier`
    /// sends.
    pub(crate) fn within(
        ctx: &Arc<ActivityContext>,
        (call, attempt): (&str, u32),
        carrier: Arc<dyn WindowCarrier>,
    ) -> Self {
        let (details, call) = (HeartbeatDetails::new(attempt), call.to_owned());
        Self { ctx: Arc::clone(ctx), details, carried: Some(CarriedCall { call, carrier }) }
    }
}
