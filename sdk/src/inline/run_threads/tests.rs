use std::{
    future::{Future, pending, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{Receiver, Sender, channel},
    task::Poll,
    thread,
};

use tokio::{
    runtime::{Builder, Handle},
    time::{Duration, sleep, timeout},
};

use super::{CURRENT_THREAD, run_on_run_thread};

const PATIENCE: Duration = Duration::from_secs(20);

/// Blocks its thread until another run has answered.
async fn waits_for_another() -> bool {
    let (answers, answer): (Sender<Option<usize>>, Receiver<_>) = channel();
    // Started here, as by a tool that dispatches another one; its result is read by the blocking
    // receive below.
    let other = run_on_run_thread(move |_| async move { answers.send(CURRENT_THREAD.get()) });
    let mut other = Box::pin(other);
    let _ = futures::poll!(&mut other);
    answer.recv_timeout(PATIENCE).is_ok_and(|there| there.is_some() && there != CURRENT_THREAD.get())
}

#[tokio::test]
async fn a_run_that_another_one_begins_is_on_another_thread() {
    assert_eq!(run_on_run_thread(|_| waits_for_another()).await, Some(true));
}

#[tokio::test]
async fn a_run_is_in_the_runtime_that_it_was_started_in() {
    let (here, there) = (Handle::current().id(), run_on_run_thread(|_| async { Handle::current().id() }).await);
    assert_eq!(there, Some(here));
}

#[tokio::test]
async fn a_panic_of_a_run_is_its_callers() {
    let panicked = tokio::spawn(run_on_run_thread(|_| async { panic!("it trips") as bool })).await;
    assert!(panicked.is_err_and(|error| error.is_panic()));
}

#[tokio::test]
async fn a_run_whose_caller_has_gone_is_told_so() {
    let (tells, told) = channel();
    let running = run_on_run_thread(move |cancelled| async move {
        cancelled.cancelled().await;
        tells.send(thread::current().name().map(str::to_owned))
    });
    assert!(timeout(Duration::ZERO, running).await.is_err());
    assert_eq!(told.recv_timeout(PATIENCE).unwrap().as_deref(), Some("agents-runs"));
}

/// Sends a message when it is dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn a_run_ends_with_its_runtime() {
    let (drops, dropped) = channel();
    let (begins, begun) = channel();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.spawn(run_on_run_thread(move |cancelled| async move {
        let _dropped = Dropped(drops);
        begins.send(()).unwrap();
        cancelled.run_until_cancelled(pending::<()>()).await
    }));
    begun.recv_timeout(PATIENCE).unwrap();
    drop(runtime);
    dropped.recv_timeout(PATIENCE).unwrap();
}

#[test]
fn no_timer_is_polled_after_its_runtime() {
    let (polls, polled) = channel();
    let (drops, dropped) = channel();
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    // A run that waits for a timer, also once its caller is gone.
    runtime.spawn(run_on_run_thread(move |_| async move {
        let _dropped = Dropped(drops);
        let mut timer = Box::pin(sleep(PATIENCE * 100));
        poll_fn(|ctx| {
            let poll = catch_unwind(AssertUnwindSafe(|| timer.as_mut().poll(ctx)));
            polls.send(poll.is_ok()).unwrap();
            poll.unwrap_or(Poll::Ready(()))
        })
        .await;
    }));
    assert!(polled.recv_timeout(PATIENCE).unwrap());
    drop(runtime);
    dropped.recv_timeout(PATIENCE).unwrap();
    assert!(polled.iter().all(|has_succeeded| has_succeeded));
}
