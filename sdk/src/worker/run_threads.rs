//! The threads on which runs are polled: a few, which all runs of the process share. As many more poll the bodies of their activity tools.
//!
//! The future of a run is not `Send`, so it stays on one thread; what waits for its end may be anywhere. A run that waits holds no thread, and
//! none of tokio's blocking pool, which is for DNS, files and the like. Timers, sockets and tasks of a run belong to the runtime that the run
//! was started in: its context is entered whenever the run is polled.
//!
//! A run that blocks its thread holds up the others there. What it calls there is pure or short by contract: inline tools and the author's
//! functions. The body of an activity tool may do what it likes, so it has other threads: one that blocks holds up no run but its own, and such
//! other bodies as are on its thread. The threads of the runtime would be worse: tokio lets nobody else have the task that a blocked one has woken.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
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
    runs: Arc<AtomicUsize>,
}

/// A run that is there, until this is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns the output of the future of `start`; none where its thread is lost. The token is cancelled when nobody waits any more.
///
/// # Panics
/// As the future does, outside of a tokio runtime, and where the process can have no thread for runs.
pub(super) async fn on_a_run_thread<T, F>(start: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    on(&RUNS, start).await
}

/// Returns the output of the body of a tool; none where its thread is lost. The body is dropped when nobody waits any more.
///
/// # Panics
/// As [`on_a_run_thread`].
pub(super) async fn on_a_body_thread<T: Send + 'static>(body: impl Future<Output = T> + Send + 'static) -> Option<T> {
    on(&BODIES, |cancelled| async move { cancelled.run_until_cancelled(body).await }).await.flatten()
}

async fn on<T, F>(threads: &'static Threads, start: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Option<T>
where
    T: Send + 'static,
    F: Future<Output = T>,
{
    let cancelled = CancellationToken::new();
    let _cancels_when_dropped = cancelled.clone().drop_guard();
    let runtime = Handle::current();
    let (ends, end) = oneshot::channel();
    threads.begin(move |counted| {
        async move {
            let _counted = counted;
            let ended = in_context(&runtime, async move { start(cancelled).await }).await;
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
async fn in_context<F: Future>(runtime: &Handle, future: F) -> thread::Result<F::Output> {
    let mut future = Some(Box::pin(AssertUnwindSafe(future).catch_unwind()));
    poll_fn(|ctx| {
        let _entered = runtime.enter();
        let polled = future.as_mut().expect("it is not polled after its end").poll_unpin(ctx);
        if polled.is_ready() {
            // A panic here would end the thread, and the other runs on it.
            let _ = catch_unwind(AssertUnwindSafe(|| future = None));
        }
        polled
    })
    .await
}

impl Threads {
    /// Begins a run on the thread with the fewest runs, but not on the one that asks: the run may wait for this one.
    fn begin(&self, run: impl FnOnce(Counted) -> LocalBoxFuture<'static, ()> + Send + 'static) {
        let here = HERE.get();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.starts.is_closed());
        let most = thread::available_parallelism().map_or(FEWEST, usize::from).clamp(FEWEST, MOST);
        let others = threads.iter().filter(|thread| Some(thread.id) != here);
        let idlest = others.map(|thread| (thread.runs.load(Ordering::Relaxed), thread.id)).min();
        let mut chosen = idlest.map(|(_, id)| id).or(threads.first().map(|thread| thread.id));
        if threads.len() < most && idlest.is_none_or(|(runs, _)| runs > 0) {
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
        thread.runs.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(Arc::clone(&thread.runs));
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
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            HERE.set(Some(id));
            LocalSet::new().block_on(&runtime, poll_runs(started));
        })?;
        Ok(Self { id, starts, runs: Arc::default() })
    }
}

/// Polls the runs that are sent, for as long as the process lives.
async fn poll_runs(mut started: UnboundedReceiver<Start>) {
    while let Some(start) = started.recv().await {
        spawn_local(start());
    }
}

#[cfg(test)]
mod tests;
