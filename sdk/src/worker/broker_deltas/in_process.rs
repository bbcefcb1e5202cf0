//! Deltas of tasks of a process over the same brokers.

use super::BrokerDeltas;
use crate::in_process::InProcessRuns;

impl InProcessRuns {
    /// Sends deltas over a broker, so that readers in all processes have them. Without it, only
    /// readers in the process that runs a task have them. All processes that share the store have
    /// the same broker. Must be called before the first use.
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
    /// Costs up to 20 requests a second for each task while it has new events, and one connection
    /// for each task that a process follows. The broker holds about 1 MB of a task at most, as JSON
    /// and for 5 minutes after its latest event. While it is unavailable, readers in other processes
    /// have facts only, and nothing waits.
    #[must_use]
    pub fn deltas(self, deltas: BrokerDeltas) -> Self {
        self.delta_streams(deltas.streams)
    }
}
