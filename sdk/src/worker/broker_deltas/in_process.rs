//! Deltas of tasks of a process over the same brokers.

use super::BrokerDeltas;
use crate::in_process::InProcessRuns;

impl InProcessRuns {
    /// Sends deltas over a broker, so that readers in every process receive them. Without it, only the
    /// process that runs a task streams its deltas. All processes that share the store must use the same
    /// broker. Call it before the first run.
    ///
    /// ```no_run
    /// use temporal_agents::{
    ///     in_process::InProcessRuns,
    ///     remote::transport::Streams,
    ///     worker::BrokerDeltas,
    /// };
    ///
    /// // `streams`: `RedisTransport::new("redis://127.0.0.1:6379")?`
    /// fn with_deltas(tasks: InProcessRuns, streams: impl Streams) -> InProcessRuns {
    ///     tasks.deltas(BrokerDeltas::new(streams))
    /// }
    /// ```
    ///
    /// Costs up to 20 requests per second for each task that produces events, and one connection for each
    /// task that a process follows. The broker keeps about 1 MB for each task, as plain JSON that no codec
    /// encrypts, until 5 minutes after the latest event. While the broker is unavailable, readers in other
    /// processes receive facts only, and no run waits.
    #[must_use]
    pub fn deltas(self, deltas: BrokerDeltas) -> Self {
        self.delta_streams(deltas.streams)
    }
}
