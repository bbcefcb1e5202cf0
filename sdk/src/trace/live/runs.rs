//! The runs of one execution whose spans have left before its end.

use std::{
    collections::BTreeSet,
    sync::{Mutex as SyncMutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex, MutexGuard},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

/// The runs of one execution, as long as this worker has it in its cache.
#[derive(Debug, Default)]
pub(in crate::trace) struct SentRuns {
    /// Ids of the runs. Locked while their spans, or the spans of the whole execution, are read
    /// and sent, so that none is sent twice.
    runs: Mutex<BTreeSet<String>>,
    /// Ids of the runs that have ended and whose spans are to be read, together.
    due: SyncMutex<BTreeSet<String>>,
    ended: CancellationToken,
}

impl SentRuns {
    /// Records that the execution has ended: its end sends the spans of further runs.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Returns `true` if the execution has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Records that a run has ended. Returns `true` if no read is due yet.
    pub(super) fn add_due(&self, run: &str) -> bool {
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        due.insert(run.to_owned());
        due.len() == 1
    }

    /// Takes the runs that are due.
    pub(super) fn take_due(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.due.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits; returns `false` if the execution ends first.
    pub(super) async fn goes_on_for(&self, time: Duration) -> bool {
        self.ended.run_until_cancelled(sleep(time)).await.is_some()
    }

    /// Waits until the spans of no run are being sent.
    pub(super) async fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.runs.lock().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_run_waits_until_its_execution_ends() {
        let sent = SentRuns::default();
        assert!(sent.goes_on_for(Duration::from_secs(1)).await);
        let ends = async {
            sleep(Duration::from_secs(1)).await;
            sent.end();
        };
        let (goes_on, ()) = tokio::join!(sent.goes_on_for(Duration::from_mins(1)), ends);
        assert!(!goes_on && sent.has_ended());
    }
}
