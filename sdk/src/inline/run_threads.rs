//! The threads on which runs are polled. All runs of the process share a few of them. Equally many
//! others poll the bodies of activity tools.
//!
//! The future of a run is not `Send`, so it stays on one thread; the future that waits for its end
//! may be on any thread. A run that waits occupies no thread, and none of tokio's blocking pool,
//! which is for DNS, files and the like. Timers, sockets and tasks of a run belong to the runtime
//! in which the run was started: its context is entered whenever the run is polled. When that
//! runtime ends, the run is dropped: a timer that is polled afterwards would panic.
//!
//! A run that blocks its thread delays the other runs on it. The code that it calls there is pure
//! or short by contract: inline tools and the author's functions. The body of an activity tool has
//! no such contract, so it has other threads: one that blocks delays no run but its own, and only
//! those other bodies that are on its thread. All bodies of a run are on one thread, so that they
//! start in the order of their calls. The threads of the runtime would be worse: in tokio, no other
//! thread can steal the task that a blocked thread has woken.

use std::{
    cell::Cell,
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use futures::{FutureExt, future::LocalBoxFuture};
use tokio::{
    runtime::{Builder, Handle},
    sync::{
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    task::{AbortHandle, LocalSet, spawn_local},
};
use tokio_util::sync::CancellationToken;

/// The minimum number of threads. There are at least two, so that a run which a blocked run waits
/// for has another thread to continue on.
const MIN_THREADS: usize = 2;
/// The maximum number of threads. A run only decides and waits, so more threads would be idle.
const MOST: usize = 16;
/// The maximum number of threads if all are blocked: more are started then, up to the default size
/// of tokio's blocking pool.
const MAX_THREADS_IF_BLOCKED: usize = 512;
/// The duration of one poll after which the thread counts as blocked.
const BLOCKED_AFTER: Duration = Duration::from_millis(50);

/// The threads of runs.
static RUNS: Threads = Threads { name: "agents-runs", threads: Mutex::new(Vec::new()) };
/// The threads of the bodies of activity tools.
static BODIES: Threads = Threads { name: "agents-tools", threads: Mutex::new(Vec::new()) };

thread_local! {
    /// Id of the current thread; `None` if it is not one of these threads.
    static CURRENT_THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Threads for the same kind of work. One is started when all others have work, up to the number of
/// cores.
struct Threads {
    name: &'static str,
    threads: Mutex<Vec<RunThread>>,
}

/// Creates a run, on the thread on which it stays.
type Start = Box<dyn FnOnce() -> LocalBoxFuture<'static, ()> + Send>;

struct RunThread {
    id: usize,
    starts: UnboundedSender<Start>,
    load: Arc<Load>,
}

/// The load of one thread.
struct Load {
    began: Instant,
    /// Number of runs on the thread.
    runs: AtomicUsize,
    /// The time at which the thread started the current poll of a run, in milliseconds since
    /// `began`, plus one; 0 if it polls none.
    poll_started_ms: AtomicU64,
}

impl Load {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn is_blocked(&self) -> bool {
        let since = self.poll_started_ms.load(Ordering::Relaxed);
        since != 0 && Duration::from_millis(self.now().saturating_sub(since)) > BLOCKED_AFTER
    }
}

/// Counts a run as a part of the load until it is dropped.
struct Counted(Arc<Load>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.runs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Runs the future of `start` on a thread for runs. Returns its output, or `None` if its thread or
/// its runtime was lost. The token is cancelled when the returned future is dropped.
///
/// # Panics
/// If the future panics, outside of a tokio runtime, and if the process cannot start any thread for
/// runs.
pub(crate) async fn run_on_run_thread<T, F>(start: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    on(&RUNS, None, start).await
}

/// The thread of the bodies of one run; unset until the first body starts.
#[derive(Debug)]
pub(crate) struct BodyThread(AtomicUsize);

impl BodyThread {
    const NONE: usize = usize::MAX;
}

impl Default for BodyThread {
    fn default() -> Self {
        Self(AtomicUsize::new(Self::NONE))
    }
}

/// Runs the body of a tool on a thread for bodies. Returns its output, or `None` if its thread or
/// its runtime was lost. The body is dropped when the returned future is dropped.
///
/// # Panics
/// As [`run_on_run_thread`].
pub(crate) async fn run_on_tool_thread<T: Send + 'static>(
    thread: &BodyThread,
    body: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    on(&BODIES, Some(thread), |cancelled| async move { cancelled.run_until_cancelled(body).await }).await.flatten()
}

async fn on<T, F>(
    threads: &'static Threads,
    same: Option<&BodyThread>,
    start: impl FnOnce(CancellationToken) -> F + Send + 'static,
) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let cancelled = CancellationToken::new();
    let _cancels_when_dropped = cancelled.clone().drop_guard();
    let runtime = Handle::current();
    let lifetime = RuntimeLifetime::watch(&runtime);
    let (ends, end) = oneshot::channel();
    threads.begin(same, move |counted| {
        async move {
            let run = async {
                tokio::select! {
                    biased;
                    () = lifetime.ended.cancelled() => None,
                    output = async move { start(cancelled).await } => Some(output),
                }
            };
            let ended = in_context(&runtime, &counted.0, run).await;
            // If the caller no longer waits, the output is dropped here, in the context of its own
            // runtime.
            if let Err(unheard) = ends.send(ended) {
                let _entered = runtime.enter();
                drop(unheard);
            }
        }
        .boxed_local()
    });
    match end.await {
        Ok(Ok(output)) => output,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => None,
    }
}

/// Tells when a runtime ends. A runtime drops its tasks before it stops its timers, so a task that
/// waits for ever notices in time.
struct RuntimeLifetime {
    ended: CancellationToken,
    sentinel: AbortHandle,
}

impl RuntimeLifetime {
    fn watch(runtime: &Handle) -> Self {
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        let sentinel = runtime.spawn(async move {
            let _ends = ends;
            pending::<()>().await;
        });
        Self { ended, sentinel: sentinel.abort_handle() }
    }
}

impl Drop for RuntimeLifetime {
    fn drop(&mut self) {
        self.sentinel.abort();
    }
}

/// Polls a future, and drops it, in the context of a runtime; the error is its panic.
async fn in_context<F: Future>(runtime: &Handle, load: &Load, future: F) -> thread::Result<F::Output> {
    let mut future = Some(Box::pin(AssertUnwindSafe(future).catch_unwind()));
    poll_fn(|ctx| {
        let _entered = runtime.enter();
        load.poll_started_ms.store(load.now(), Ordering::Relaxed);
        let polled = future.as_mut().expect("it is not polled after its end").poll_unpin(ctx);
        if polled.is_ready() {
            // A panic while the future is dropped would end the thread, and the other runs on it.
            let _ = catch_unwind(AssertUnwindSafe(|| future = None));
        }
        load.poll_started_ms.store(0, Ordering::Relaxed);
        polled
    })
    .await
}

impl Threads {
    /// Starts a run on the same thread as the earlier ones of `same`, otherwise on the one with the
    /// fewest runs. Neither the caller's own thread nor a blocked one is chosen, if another is
    /// available: the caller may wait for the run, or a blocked run may wait for it.
    fn begin(
        &self,
        same: Option<&BodyThread>,
        run: impl FnOnce(Counted) -> LocalBoxFuture<'static, ()> + Send + 'static,
    ) {
        let here = CURRENT_THREAD.get();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.starts.is_closed());
        let most = thread::available_parallelism().map_or(MIN_THREADS, usize::from).clamp(MIN_THREADS, MOST);
        let is_free = |thread: &&RunThread| Some(thread.id) != here && !thread.load.is_blocked();
        let earlier = same.map(|BodyThread(id)| id.load(Ordering::Relaxed));
        let earlier = threads.iter().filter(is_free).find(|thread| Some(thread.id) == earlier).map(|thread| thread.id);
        let free = threads.iter().filter(is_free);
        let idlest = free.map(|thread| (thread.load.runs.load(Ordering::Relaxed), thread.id)).min();
        // Falls back to any thread if none is free, and no further one can be started.
        let mut chosen = earlier.or(idlest.map(|(_, id)| id)).or(threads.first().map(|thread| thread.id));
        let has_room = match idlest {
            Some((runs, _)) => runs > 0 && threads.len() < most,
            None => threads.len() < MAX_THREADS_IF_BLOCKED,
        };
        if earlier.is_none() && has_room {
            match RunThread::start(self.name) {
                Ok(thread) => {
                    chosen = Some(thread.id);
                    threads.push(thread);
                }
                Err(error) => tracing::warn!(%error, "no further thread for runs could be started"),
            }
        }
        let thread = threads.iter().find(|thread| Some(thread.id) == chosen);
        let thread = thread.expect("the process can have a thread for runs");
        if let Some(BodyThread(id)) = same {
            id.store(thread.id, Ordering::Relaxed);
        }
        thread.load.runs.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(Arc::clone(&thread.load));
        // A lost thread drops what it is sent, which ends the wait of the caller with `None`.
        let _ = thread.starts.send(Box::new(move || run(counted)));
    }
}

impl RunThread {
    fn start(name: &str) -> std::io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (starts, started) = unbounded_channel();
        // This runtime only polls: timers and sockets that runs await belong to the runtimes in
        // which the runs were started.
        let runtime = Builder::new_current_thread().build()?;
        let load = Load { began: Instant::now(), runs: AtomicUsize::new(0), poll_started_ms: AtomicU64::new(0) };
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            CURRENT_THREAD.set(Some(id));
            LocalSet::new().block_on(&runtime, poll_runs(started));
        })?;
        Ok(Self { id, starts, load: Arc::new(load) })
    }
}

/// Polls the runs that are sent, as long as the process lives. (For this reason tokio's
/// `block_in_place` panics in a body.)
async fn poll_runs(mut started: UnboundedReceiver<Start>) {
    while let Some(start) = started.recv().await {
        spawn_local(start());
    }
}

#[cfg(test)]
mod tests;
