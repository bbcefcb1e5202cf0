//! The details that the heartbeats of an attempt carry.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use temporal_agents_core::wire::delta_window::DeltaWindow;

/// The details of an attempt's heartbeats: none, until the attempt streams. Clones are the same.
#[derive(Clone)]
pub(crate) struct HeartbeatDetails {
    attempt: u32,
    window: Arc<Mutex<Option<DeltaWindow>>>,
}

impl HeartbeatDetails {
    /// Creates the details of this attempt.
    pub(crate) fn new(attempt: u32) -> Self {
        Self { attempt, window: Arc::default() }
    }

    /// Changes the details for all later heartbeats, and returns them.
    pub(crate) fn change(&self, change: impl FnOnce(&mut DeltaWindow)) -> DeltaWindow {
        let mut window = self.lock();
        let window = window.get_or_insert_with(|| DeltaWindow::new(self.attempt));
        change(window);
        window.clone()
    }

    /// Changes the details for all later heartbeats.
    pub(crate) fn change_later(&self, change: impl FnOnce(&mut DeltaWindow)) {
        change(self.lock().get_or_insert_with(|| DeltaWindow::new(self.attempt)));
    }

    /// Returns the details for a heartbeat.
    pub(crate) fn current(&self) -> Option<DeltaWindow> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<DeltaWindow>> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
