//! Watches the workflows of a worker, and logs what would otherwise be silent: a replay that differs
//! from its history, a future that is not of the workflow's context, and code that blocks.
//!
//! # Design
//! **A workflow that is dropped while it replays has failed to.** The SDK tells nobody why it drops a
//! workflow from its cache. But a workflow leaves its replay only by completing it: at the present,
//! or at a query. (The end of its main future does not count: a run that now fails has one, too.)
//! So the watch keeps a journal as long as a workflow replays, and closes it when the workflow gets
//! past. `difference.rs` explains the journals that are left over, by the history. A live workflow
//! has no journal.
//!
//! **A wake of somebody else is seen, not prevented.** Each poll of a workflow's main future has a
//! waker that asks the SDK whether it is woken by it. The SDK does the same, and fails the next
//! workflow task; until then, which may be never, it says nothing.
//!
//! **Code that blocks is measured.** The watch warns when a poll of the main future takes 2 s. The SDK
//! warns only after 5 s, and names only the workflow type.

mod difference;

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use temporalio_client::Client;
use temporalio_workflow::{
    __private::sdk::is_sdk_wake,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ExecuteWorkflowInput, ExecuteWorkflowResult, HandleQueryInput,
        HandleQueryResult, HandleSignalInput, HandleSignalResult, HandleUpdateInput, HandleUpdateResult,
        ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput, StartChildWorkflowInput,
        StartChildWorkflowResult, SyncWorkflowInterceptorContext, WorkflowInterceptor, WorkflowInterceptorConstructor,
        WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
    },
};
use tokio::{runtime::Handle, sync::Semaphore};

use self::difference::Differences;
use crate::replay::{Journal, Observer};

/// Number of runs of which the watch remembers something.
const MAX_REMEMBERED: usize = 10_000;
/// Number of failed replays that wait for their explanation; further ones are taken when they fail
/// again.
const MAX_QUEUED: usize = 100;
/// Duration of one poll of a workflow from which its code counts as blocking.
const MAX_POLL: Duration = Duration::from_secs(2);

/// The watch of a worker. Clones share what was logged already.
#[derive(Clone, Debug, Default)]
pub(super) struct RunWatch(Arc<Shared>);

struct Shared {
    /// The client of the worker, as soon as the watch knows it.
    client: Mutex<Option<Client>>,
    /// The failed replays, by Temporal's run id.
    replays: Mutex<BTreeMap<String, FailedReplay>>,
    queue: Semaphore,
    differences: Differences,
}

/// What is known of a run whose replay has failed.
#[derive(Clone, Copy, Debug, Default)]
struct FailedReplay {
    times: u32,
    is_logged: bool,
    is_queued: bool,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            client: Mutex::default(),
            replays: Mutex::default(),
            queue: Semaphore::new(MAX_QUEUED),
            differences: Differences::default(),
        }
    }
}

/// A workflow execution, as logs name it.
#[derive(Clone, Debug)]
pub(super) struct WatchedRun {
    pub(super) namespace: String,
    pub(super) workflow_id: String,
    pub(super) run_id: String,
    pub(super) workflow_type: String,
}

impl RunWatch {
    /// Sets the client with which histories are read.
    pub(super) fn set_client(&self, client: Client) {
        *self.client() = Some(client);
    }

    /// Sets the client, unless there is one.
    pub(super) fn offer_client(&self, client: impl FnOnce() -> Client) {
        self.client().get_or_insert_with(client);
    }

    fn client(&self) -> MutexGuard<'_, Option<Client>> {
        self.0.client.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the interceptor of the worker's workflows.
    pub(super) fn interceptor(&self) -> WorkflowInterceptorConstructor {
        let watch = self.clone();
        WorkflowInterceptorConstructor::new(move |_| {
            let journal = Journal::default();
            Watcher { watch: watch.clone(), observer: journal.observer(), journal, run: OnceCell::new() }
        })
    }

    /// Explains a replay that has failed, outside of the workflow, and logs it once for each run.
    fn replay_has_failed(&self, run: WatchedRun, journal: Journal) {
        // Without a runtime the worker is being torn down.
        let Ok(runtime) = Handle::try_current() else { return };
        let times = {
            let mut replays = self.replays();
            if replays.len() >= MAX_REMEMBERED && !replays.contains_key(&run.run_id) {
                replays.pop_first();
            }
            let replay = replays.entry(run.run_id.clone()).or_default();
            replay.times += 1;
            if replay.is_logged || replay.is_queued {
                return;
            }
            replay.is_queued = true;
            replay.times
        };
        let watch = self.clone();
        runtime.spawn(async move {
            let mut is_logged = false;
            if let Ok(_place) = watch.0.queue.try_acquire() {
                let client = watch.client().clone();
                is_logged = watch.0.differences.log(client.as_ref(), &run, &journal, times).await;
            }
            if let Some(replay) = watch.replays().get_mut(&run.run_id) {
                replay.is_queued = false;
                replay.is_logged = is_logged;
            }
        });
    }

    fn replays(&self) -> MutexGuard<'_, BTreeMap<String, FailedReplay>> {
        self.0.replays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The interceptor of one workflow in memory: it is dropped with the workflow.
struct Watcher {
    watch: RunWatch,
    observer: Observer,
    journal: Journal,
    run: OnceCell<WatchedRun>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        if let Some(run) = self.run.take()
            && !self.journal.is_closed()
        {
            self.watch.replay_has_failed(run, self.journal.clone());
        }
    }
}

impl WorkflowInterceptor for Watcher {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let run = WatchedRun {
            namespace: ctx.namespace().to_owned(),
            workflow_id: ctx.workflow_id().to_owned(),
            run_id: ctx.run_id().to_owned(),
            workflow_type: ctx.workflow_type().to_owned(),
        };
        let running = self.observer.execute(ctx.clone(), input, next);
        let warnings = Arc::new(Warnings::new(run.clone()));
        self.run.get_or_init(|| run);
        WorkflowInterceptorFuture::new(Watched { running, ctx, journal: &self.journal, warnings, waker: None })
    }

    fn handle_signal<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: HandleSignalInput,
        next: WorkflowNext<'a, HandleSignalInput, WorkflowInterceptorFuture<'a, HandleSignalResult>>,
    ) -> WorkflowInterceptorFuture<'a, HandleSignalResult> {
        self.observer.handle_signal(ctx, input, next)
    }

    fn handle_update<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: HandleUpdateInput,
        next: WorkflowNext<'a, HandleUpdateInput, WorkflowInterceptorFuture<'a, HandleUpdateResult>>,
    ) -> WorkflowInterceptorFuture<'a, HandleUpdateResult> {
        self.observer.handle_update(ctx, input, next)
    }

    fn handle_query(
        &self,
        _ctx: SyncWorkflowInterceptorContext,
        input: HandleQueryInput,
        next: WorkflowNext<'_, HandleQueryInput, HandleQueryResult>,
    ) -> HandleQueryResult {
        // A query is answered at the end of a replay.
        self.journal.close();
        next.run(input)
    }

    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.observer.schedule_activity(ctx, input, next)
    }

    fn schedule_local_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        self.observer.schedule_local_activity(ctx, input, next)
    }

    fn start_child_workflow(
        &self,
        ctx: WorkflowInterceptorContext,
        input: StartChildWorkflowInput,
        next: WorkflowNext<
            'static,
            StartChildWorkflowInput,
            CancellableWorkflowOutboundFuture<StartChildWorkflowResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartChildWorkflowResult> {
        self.observer.start_child_workflow(ctx, input, next)
    }
}

/// The main future of a workflow.
struct Watched<'a> {
    running: WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>,
    ctx: WorkflowInterceptorContext,
    journal: &'a Journal,
    warnings: Arc<Warnings>,
    /// The waker of the SDK at the latest poll, and the one that watches it.
    waker: Option<(Waker, Waker)>,
}

impl Watched<'_> {
    /// Returns the waker that watches this waker of the SDK, which is the same at most polls.
    fn watching(&mut self, waker: &Waker) -> Waker {
        if let Some((of_sdk, watching)) = &self.waker
            && of_sdk.will_wake(waker)
        {
            return watching.clone();
        }
        let warnings = Arc::clone(&self.warnings);
        let watching = Waker::from(Arc::new(WatchedWaker { waker: waker.clone(), warnings }));
        self.waker = Some((waker.clone(), watching.clone()));
        watching
    }
}

impl Future for Watched<'_> {
    type Output = ExecuteWorkflowResult;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.ctx.is_replaying_history_events() && !self.journal.is_closed() {
            self.journal.close();
        }
        let waker = self.watching(cx.waker());
        let begin = Instant::now();
        let polled = Pin::new(&mut self.running).poll(&mut Context::from_waker(&waker));
        let elapsed = begin.elapsed();
        if elapsed >= MAX_POLL {
            self.warnings.log_blocking(elapsed);
        }
        polled
    }
}

/// The warnings about the code of a workflow, each logged once.
struct Warnings {
    run: WatchedRun,
    has_foreign_wake: AtomicBool,
    has_blocked: AtomicBool,
}

impl Warnings {
    fn new(run: WatchedRun) -> Self {
        Self { run, has_foreign_wake: AtomicBool::new(false), has_blocked: AtomicBool::new(false) }
    }

    /// Logs that the workflow has blocked its thread for this time.
    fn log_blocking(&self, elapsed: Duration) {
        if self.has_blocked.swap(true, Ordering::Relaxed) {
            return;
        }
        let WatchedRun { namespace: _, workflow_id, run_id, workflow_type } = &self.run;
        tracing::warn!(
            workflow_id,
            run_id,
            workflow_type,
            ?elapsed,
            "this workflow's code has blocked its thread: all workflows of the worker waited, and after 10 s the server gives \
             the task to another worker; move what blocks (I/O, std::thread::sleep, a long computation) from the \
             workflow, an inline tool, a guardrail or a hook into an activity"
        );
    }

    /// Logs that something that is not of the SDK has woken the workflow.
    fn log_foreign_wake(&self) {
        if self.has_foreign_wake.swap(true, Ordering::Relaxed) {
            return;
        }
        let WatchedRun { namespace: _, workflow_id, run_id, workflow_type } = &self.run;
        tracing::warn!(
            workflow_id,
            run_id,
            workflow_type,
            "this workflow awaits something that is not its context's, such as tokio::time::sleep or a spawned task: \
             it does not continue, and its next workflow task will fail; use ctx.timer(..), ctx.wait_condition(..) or \
             an activity in its place"
        );
    }
}

struct WatchedWaker {
    waker: Waker,
    warnings: Arc<Warnings>,
}

impl Wake for WatchedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !is_sdk_wake() {
            self.warnings.log_foreign_wake();
        }
        self.waker.wake_by_ref();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunWatch").finish_non_exhaustive()
    }
}
