//! Decides which workflows are followed, and when.
//!
//! # Design
//! **A bounded number of histories is open.** A follower holds a part of a history. While others
//! wait for their turn, a workflow without news is left, and looked at again from time to time: its
//! description says whether its history has grown.

use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    pin, select,
    sync::{Semaphore, mpsc},
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Shared,
    discovery::{Candidate, discover},
    follow::{Followed, Follower, Place},
};

/// Maximum number of workflows that are followed at the same time.
const MAX_FOLLOWED: usize = 256;
/// Maximum number of those that have ended, which are read as a whole.
const MAX_ENDED: usize = 16;
/// Number of workflows that are found before they are wanted.
const MAX_FOUND: usize = 1_000;
/// The interval in which a workflow is looked at that is not followed.
const PARKED_INTERVAL: Duration = Duration::from_secs(30);
/// The first and the longest pause after a failure.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(15));
/// Time in which writes are completed at the end.
const GRACE: Duration = Duration::from_secs(5);

/// The workflows of a projector.
pub(super) struct Schedule {
    follower: Follower,
    tasks: JoinSet<(Task, Followed)>,
    /// The keys that are followed or parked, by the executions with which they were found. Empty
    /// while the key is not known yet.
    found: HashMap<String, String>,
    /// The executions with which a key was found.
    executions: HashMap<String, Vec<String>>,
    /// The tasks that wait, by the time at which they are due.
    parked: BTreeMap<Instant, VecDeque<Task>>,
}

/// A workflow in the schedule.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) candidate: Candidate,
    /// The key of its row, which no other task has.
    pub(super) key: Option<String>,
    /// The place up to which its history was read.
    pub(super) place: Option<Place>,
    failures: u32,
}

/// The state that the followers share with the schedule.
#[derive(Clone)]
pub(super) struct Turns {
    /// The keys that belong to a task.
    keys: Arc<Mutex<HashSet<String>>>,
    /// Number of the workflows that wait to be followed.
    waiting: Arc<AtomicUsize>,
    /// The permits to read histories that have ended.
    pub(super) ended: Arc<Semaphore>,
    pub(super) stopped: CancellationToken,
}

impl Turns {
    fn new() -> Self {
        Self {
            keys: Arc::default(),
            waiting: Arc::default(),
            ended: Arc::new(Semaphore::new(MAX_ENDED)),
            stopped: CancellationToken::new(),
        }
    }

    /// Takes a key for a task. Returns `false` if another one has it.
    pub(super) fn take(&self, key: &str) -> bool {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned())
    }

    fn release(&self, key: &str) {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Returns `true` if other workflows wait to be followed.
    pub(super) fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::Acquire) > 0
    }
}

impl Schedule {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self {
            follower: Follower { shared, turns: Turns::new() },
            tasks: JoinSet::new(),
            found: HashMap::new(),
            executions: HashMap::new(),
            parked: BTreeMap::new(),
        }
    }

    /// Follows workflows until `stopped`.
    pub(super) async fn run(mut self, stopped: impl Future<Output = ()>) {
        pin!(stopped);
        let (sender, mut found) = mpsc::channel(MAX_FOUND);
        let mut discovery = JoinSet::new();
        discovery.spawn(discover(Arc::clone(&self.follower.shared), sender));
        loop {
            let has_place = self.tasks.len() < MAX_FOLLOWED;
            let due = self.parked.first_key_value().map_or_else(far_away, |(due, _)| *due);
            let waiting = if has_place { 0 } else { found.len() + self.due() };
            self.follower.turns.waiting.store(waiting, Ordering::Release);
            select! {
                () = &mut stopped => break,
                Some(ended) = self.tasks.join_next() => self.ended(ended),
                () = sleep_until(due), if has_place => self.wake(),
                Some(candidate) = found.recv(), if has_place => self.take(candidate),
                // The number of those that wait has to be counted again.
                () = tokio::time::sleep(PAUSES.0), if !has_place => {}
            }
        }
        discovery.shutdown().await;
        self.stop().await;
    }

    /// Lets the tasks complete their writes.
    async fn stop(mut self) {
        self.follower.turns.stopped.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        tokio::time::timeout(GRACE, all).await.ok();
        self.tasks.shutdown().await;
    }

    /// Returns the number of parked tasks that are due.
    fn due(&self) -> usize {
        self.parked.range(..=Instant::now()).map(|(_, tasks)| tasks.len()).sum()
    }

    fn take(&mut self, candidate: Candidate) {
        if self.found.contains_key(&candidate.execution) {
            return;
        }
        self.found.insert(candidate.execution.clone(), String::new());
        self.start(Task { candidate, key: None, place: None, failures: 0 });
    }

    fn start(&mut self, task: Task) {
        let follower = self.follower.clone();
        self.tasks.spawn(async move { follower.follow(task).await });
    }

    /// Starts a task that is due.
    fn wake(&mut self) {
        let Some(mut entry) = self.parked.first_entry() else { return };
        let task = entry.get_mut().pop_front();
        if entry.get().is_empty() {
            entry.remove();
        }
        if let Some(task) = task {
            self.start(task);
        }
    }

    fn ended(&mut self, ended: Result<(Task, Followed), JoinError>) {
        let (mut task, followed) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Its key stays taken, so the workflow is read by the next process.
                tracing::error!(%error, "a task of the projector has failed");
                return;
            }
        };
        match followed {
            Followed::Done => self.forget(&task),
            Followed::ByAnother(key) => {
                self.executions.entry(key.clone()).or_default().push(task.candidate.execution.clone());
                self.found.insert(task.candidate.execution, key);
            }
            Followed::Quiet => {
                task.failures = 0;
                self.park(task, PARKED_INTERVAL);
            }
            Followed::Failed => {
                let pause = PAUSES.0.saturating_mul(1 << task.failures.min(10)).min(PAUSES.1);
                task.failures += 1;
                self.park(task, pause);
            }
        }
    }

    fn park(&mut self, task: Task, pause: Duration) {
        self.parked.entry(Instant::now() + pause).or_default().push_back(task);
    }

    fn forget(&mut self, task: &Task) {
        self.found.remove(&task.candidate.execution);
        if let Some(key) = &task.key {
            self.follower.turns.release(key);
            for execution in self.executions.remove(key).unwrap_or_default() {
                self.found.remove(&execution);
            }
        }
    }
}

fn far_away() -> Instant {
    Instant::now() + Duration::from_hours(1)
}
