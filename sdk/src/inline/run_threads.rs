//! The threads on which runs are polled: a few, which all runs of the process share. As many more poll the bodies of their activity tools.
//!
//! The future of a run is not `Send`, so it stays on one thread; what waits for its end may be anywhere. A run that waits holds no thread, and
//! none of tokio's blocking pool, which is for DNS, files and the like. Timers, sockets and tasks of a run belong to the runtime that the run
//! was started in: its context is entered whenever the run is polled.
//!
//! A run that blocks its thread holds up the others there. What it calls there is pure or short by contract: inline tools and the author's
//! functions. The body of an activity tool may do what it likes, so it has other threads: one that blocks holds up no run but its own, and such
//! other bodies as are on its thread. All bodies of a run are on one, so that they begin in the order of their calls. The threads of the runtime would be worse: tokio lets nobody else have the task that a blocked one has woken.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
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
    task::{LocalSet, spawn_local},
};
use tokio_util::sync::CancellationToken;

/// At least two: a run that a blocked run waits for has another thread to go on.
const FEWEST: usize = 2;
/// A run decides and waits, so that more threads than these would have nothing to do.
const MOST: usize = 16;
/// Where all are blocked, more are started, up to as many as tokio has for what blocks.
const MOST_BLOCKED: usize = 512;
/// A thread that polls one run for so long is blocked by it.
const BLOCKED_AFTER: Duration = Duration::from_millis(50);

/// The threads of runs.
static RUNS: Threads = Threads { name: "agents-runs", threads: Mutex::new(Vec::new()) };
/// The threads of the bodies of activity tools.
static BODIES: Threads = Threads { name: "agents-tools", threads: Mutex::new(Vec::new()) };

thread_local! {
    /// Which of these threads this is.
    static HERE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Threads for the same kind of work; one is started when all others have some, up to the number of cores.
struct Threads {
    name: &'static str,
    threads: Mutex<Vec<RunThread>>,
}

/// Makes a run, on the thread on which it stays.
type Start = Box<dyn FnOnce() -> LocalBoxFuture<'static, ()> + Send>;

struct RunThread {
    id: usize,
    starts: UnboundedSender<Start>,
    load: Arc<Load>,
}

/// The work of one thread.
struct Load {
    began: Instant,
    runs: AtomicUsize,
    /// The time at which it has begun to poll the run that it polls now, in milliseconds since `began` and one; 0 = it polls none.
    polls_since: AtomicU64,
}

impl Load {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX).saturating_add(1)
    }

    fn is_blocked(&self) -> bool {
        let since = self.polls_since.load(Ordering::Relaxed);
        since != 0 && Duration::from_millis(self.now().saturating_sub(since)) > BLOCKED_AFTER
    }
}

/// A run that is there, until this is dropped.
struct Counted(Arc<Load>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.runs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the output of the future of `start`; none where its thread is lost. The token is cancelled when nobody waits any more.
///
/// # Panics
/// As the future does, outside of a tokio runtime, and where the process can have no thread for runs.
pub(crate) async fn on_a_run_thread<T, F>(start: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    on(&RUNS, None, start).await
}

/// The thread of the bodies of one run, once it has had one.
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

/// Returns the output of the body of a tool; none where its thread is lost. The body is dropped when nobody waits any more.
///
/// # Panics
/// As [`on_a_run_thread`].
pub(crate) async fn on_a_body_thread<T: Send + 'static>(
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
    let (ends, end) = oneshot::channel();
    threads.begin(same, move |counted| {
        async move {
            let ended = in_context(&runtime, &counted.0, async move { start(cancelled).await }).await;
            // Where nobody waits any more, it is dropped, in the context it comes from.
            if let Err(unheard) = ends.send(ended) {
                let _entered = runtime.enter();
                drop(unheard);
            }
        }
        .boxed_local()
    });
    match end.await {
        Ok(Ok(output)) => Some(output),
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => None,
    }
}

/// Polls a future, and drops it, in the context of a runtime; the error is its panic.
async fn in_context<F: Future>(runtime: &Handle, load: &Load, future: F) -> thread::Result<F::Output> {
    let mut future = Some(Box::pin(AssertUnwindSafe(future).catch_unwind()));
    poll_fn(|ctx| {
        let _entered = runtime.enter();
        load.polls_since.store(load.now(), Ordering::Relaxed);
        let polled = future.as_mut().expect("it is not polled after its end").poll_unpin(ctx);
        if polled.is_ready() {
            // A panic here would end the thread, and the other runs on it.
            let _ = catch_unwind(AssertUnwindSafe(|| future = None));
        }
        load.polls_since.store(0, Ordering::Relaxed);
        polled
    })
    .await
}

impl Threads {
    /// Begins a run on the same thread as those before, else on the one with the fewest runs, but not on the one that asks, nor on a blocked
    /// one: the run may wait for this one, or that one for it.
    fn begin(
        &self,
        same: Option<&BodyThread>,
        run: impl FnOnce(Counted) -> LocalBoxFuture<'static, ()> + Send + 'static,
    ) {
        let here = HERE.get();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.starts.is_closed());
        let most = thread::available_parallelism().map_or(FEWEST, usize::from).clamp(FEWEST, MOST);
        let is_free = |thread: &&RunThread| Some(thread.id) != here && !thread.load.is_blocked();
        let earlier = same.map(|BodyThread(id)| id.load(Ordering::Relaxed));
        let earlier = threads.iter().filter(is_free).find(|thread| Some(thread.id) == earlier).map(|thread| thread.id);
        let free = threads.iter().filter(is_free);
        let idlest = free.map(|thread| (thread.load.runs.load(Ordering::Relaxed), thread.id)).min();
        let mut chosen = earlier.or(idlest.map(|(_, id)| id)).or(threads.first().map(|thread| thread.id));
        let has_room = match idlest {
            Some((runs, _)) => runs > 0 && threads.len() < most,
            None => threads.len() < MOST_BLOCKED,
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
        // A thread that is lost drops what it is sent: whoever waits for the run is told so.
        let _ = thread.starts.send(Box::new(move || run(counted)));
    }
}

impl RunThread {
    fn start(name: &str) -> std::io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (starts, started) = unbounded_channel();
        // It polls, and nothing else: what runs await is of the runtimes that they were started in.
        let runtime = Builder::new_current_thread().build()?;
        let load = Load { began: Instant::now(), runs: AtomicUsize::new(0), polls_since: AtomicU64::new(0) };
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            HERE.set(Some(id));
            LocalSet::new().block_on(&runtime, poll_runs(started));
        })?;
        Ok(Self { id, starts, load: Arc::new(load) })
    }
}

/// Polls the runs that are sent, for as long as the process lives. (In a body, `block_in_place` of tokio panics therefore.)
async fn poll_runs(mut started: UnboundedReceiver<Start>) {
    while let Some(start) = started.recv().await {
        spawn_local(start());
    }
}

#[cfg(test)]
mod tests;
