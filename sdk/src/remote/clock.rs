//! The clock of gateways and of streams in memory.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A clock that never goes back: the time of the system at its start, and the time since then. In
/// tests, tokio can pause it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    started: Instant,
    started_at: Duration,
}

impl Clock {
    pub(super) fn start() -> Self {
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_at }
    }

    /// Returns the time since the Unix epoch.
    pub(super) fn now(&self) -> Duration {
        self.started_at.saturating_add(self.started.elapsed())
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::start()
    }
}
