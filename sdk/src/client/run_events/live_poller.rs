//! One reader of a workflow's open attempts for many subscribers in a process.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use temporalio_client::Client;
use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::{Instant, sleep},
};

use super::attempts::{OpenAttempt, open_attempts};

/// The shortest and the longest pause between two requests: the pause grows with the time without
/// news, because a call may wait for hours for its next attempt.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// The part of the time without news that a pause takes.
const PAUSE_DIVISOR: u32 = 20;
/// The shortest pause while a model call has no delta yet: a person waits for its first token.
/// Makes up to 52 requests in the first second of a call, instead of 20.
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// A reader that requests the open attempts as long as a subscriber wants them.
pub(super) struct LivePoller {
    shared: Arc<Shared>,
    attempts: watch::Receiver<Arc<Vec<OpenAttempt>>>,
    task: AbortHandle,
}

#[derive(Default)]
struct Shared {
    /// The number of subscribers that expect deltas.
    wanted: AtomicUsize,
    /// Notified when the next request is due at once.
    woken: Notify,
    /// Id of the model call that a subscriber has read of last.
    scheduled: Mutex<String>,
}

/// The wish of a subscriber for open attempts, as long as it exists.
pub(super) struct Wanted(Arc<Shared>);

impl LivePoller {
    /// Starts the reader, which makes no request until it is wanted.
    pub(super) fn start(client: &Client, workflow_id: &str) -> Arc<Self> {
        let shared = Arc::new(Shared::default());
        let (sender, attempts) = watch::channel(Arc::default());
        let (client, workflow_id, of_task) = (client.clone(), workflow_id.to_owned(), Arc::clone(&shared));
        let task = tokio::spawn(async move {
            let (mut places, mut changed) = (Vec::new(), Instant::now());
            loop {
                while of_task.wanted.load(Ordering::Acquire) == 0 {
                    of_task.woken.notified().await;
                    changed = Instant::now();
                }
                let mut awaits_first = false;
                // Deltas are a courtesy: the facts report what is wrong with the workflow.
                if let Ok(attempts) = open_attempts(&client, &workflow_id).await {
                    let now: Vec<_> = attempts.iter().map(OpenAttempt::place).collect();
                    if now != places {
                        (places, changed) = (now, Instant::now());
                    }
                    awaits_first = attempts.iter().any(OpenAttempt::awaits_first_token);
                    sender.send_replace(Arc::new(attempts));
                }
                tokio::select! {
                    () = sleep(pause(changed.elapsed(), awaits_first)) => {}
                    () = of_task.woken.notified() => changed = Instant::now(),
                }
            }
        });
        Arc::new(Self { shared, attempts, task: task.abort_handle() })
    }

    /// Returns the snapshots of the open attempts.
    pub(super) fn attempts(&self) -> watch::Receiver<Arc<Vec<OpenAttempt>>> {
        let mut attempts = self.attempts.clone();
        // A snapshot that is there may be of a time before the subscriber's last fact.
        attempts.mark_unchanged();
        attempts
    }

    /// Makes requests until the return value is dropped.
    pub(super) fn want(&self) -> Wanted {
        if self.shared.wanted.fetch_add(1, Ordering::AcqRel) == 0 {
            self.shared.woken.notify_one();
        }
        Wanted(Arc::clone(&self.shared))
    }

    /// Makes a request at once, if no subscriber has read of this model call before.
    pub(super) fn model_call_scheduled(&self, call: &str) {
        let mut scheduled = self.shared.scheduled.lock().unwrap_or_else(PoisonError::into_inner);
        if *scheduled != call {
            call.clone_into(&mut scheduled);
            self.shared.woken.notify_one();
        }
    }
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.wanted.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for LivePoller {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns the pause after a request. `quiet` is the time without news, `awaits_first` is `true` if
/// a model call has no delta yet.
fn pause(quiet: Duration, awaits_first: bool) -> Duration {
    let shortest = if awaits_first { FIRST_PAUSE } else { PAUSES.0 };
    (quiet / PAUSE_DIVISOR).clamp(shortest, PAUSES.1)
}

#[cfg(test)]
mod tests;
