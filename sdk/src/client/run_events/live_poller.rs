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
    time::{Instant, sleep_until},
};

use super::{
    attempts::{OpenAttempt, Reached, open_attempts},
    delta_reader::DeltaReader,
    outside::OutsideDeltas,
};

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
    /// `true` if deltas are also read outside of Temporal.
    reads_outside: bool,
    task: AbortHandle,
}

/// The task of a poller.
struct Polling {
    client: Client,
    workflow_id: String,
    shared: Arc<Shared>,
    outside: OutsideDeltas,
    sender: watch::Sender<Arc<Vec<OpenAttempt>>>,
    /// The attempts of the latest request, and the places that they have reached.
    attempts: Vec<OpenAttempt>,
    places: Vec<Reached>,
    /// The time of the latest change.
    changed: Instant,
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
    pub(super) fn start(client: &Client, workflow_id: &str, deltas: Option<Arc<dyn DeltaReader>>) -> Arc<Self> {
        let (shared, reads_outside) = (Arc::new(Shared::default()), deltas.is_some());
        let (sender, attempts) = watch::channel(Arc::default());
        let task = Polling {
            outside: OutsideDeltas::new(deltas, client, workflow_id),
            client: client.clone(),
            workflow_id: workflow_id.to_owned(),
            shared: Arc::clone(&shared),
            sender,
            attempts: Vec::new(),
            places: Vec::new(),
            changed: Instant::now(),
        };
        let task = tokio::spawn(task.run());
        Arc::new(Self { shared, attempts, reads_outside, task: task.abort_handle() })
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

    /// Makes a request at once, if deltas are read outside of Temporal: their readers begin with
    /// the calls that the server reports. `fact` is the id of the fact that a subscriber has read.
    pub(super) fn calls_changed(&self, fact: &str) {
        if self.reads_outside {
            self.model_call_scheduled(fact);
        }
    }
}

impl Polling {
    async fn run(mut self) {
        loop {
            while self.shared.wanted.load(Ordering::Acquire) == 0 {
                self.outside.clear();
                self.shared.woken.notified().await;
                self.changed = Instant::now();
            }
            self.request().await;
            self.wait().await;
        }
    }

    /// Requests the open attempts.
    async fn request(&mut self) {
        // Deltas are a courtesy: the facts report what is wrong with the workflow.
        let Ok(open) = open_attempts(&self.client, &self.workflow_id).await else { return };
        let places: Vec<_> = open.attempts.iter().map(OpenAttempt::place).collect();
        if places != self.places {
            (self.places, self.changed) = (places, Instant::now());
        }
        self.outside.follow(&open);
        self.attempts = open.attempts;
        self.publish();
    }

    /// Waits until the next request is due, and passes on what comes from outside meanwhile.
    async fn wait(&mut self) {
        // What is read outside comes without a request.
        let awaits_first = !self.outside.is_read() && self.attempts.iter().any(OpenAttempt::awaits_first_token);
        let due = Instant::now() + pause(self.changed.elapsed(), awaits_first);
        loop {
            tokio::select! {
                () = sleep_until(due) => return,
                () = self.shared.woken.notified() => {
                    self.changed = Instant::now();
                    return;
                }
                () = self.outside.changed() => self.publish(),
            }
        }
    }

    fn publish(&self) {
        self.sender.send_replace(Arc::new(self.outside.with(&self.attempts)));
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
