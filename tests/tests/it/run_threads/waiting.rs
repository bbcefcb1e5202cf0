//! Two thousand runs and as many sessions that wait for a model, in a process of their own: this test binary, started again with one test.

use std::{future::pending, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use temporal_agents::{
    Agent, Model, ModelProvider,
    agentic_session::AgenticSession,
    inline::InlineRunner,
    provider::ModelError,
    wire::{ModelCall, ModelResponse},
};
use temporal_agents_testing::{SessionEnvironment, skip_entry_point};
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::{
    runtime::Builder,
    sync::Semaphore,
    task::{JoinSet, spawn_blocking},
    time::timeout,
};

pub(super) const TASK: &str = "TEMPORAL_AGENTS_TEST_WAITING_RUNS";
const RUNS: usize = 2000;
/// Of the runtime: two workers, and one thread in the blocking pool. Of the test harness: one. Of runs: 16 at most.
const MOST_THREADS: usize = 24;

/// A model that never answers, and says when it is asked, and when the call is dropped.
#[derive(Clone)]
struct Silent {
    asked: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
}

struct Dropped(Arc<Semaphore>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

impl Model for Silent {
    fn call(&self, _: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        Box::pin(async {
            let _dropped = Dropped(Arc::clone(&self.dropped));
            self.asked.add_permits(1);
            pending().await
        })
    }
}

impl ModelProvider for Silent {
    fn model<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        let model: Arc<dyn Model> = Arc::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(model))))
    }
}

struct Waits(InlineRunner);

#[activities]
impl Waits {
    #[activity]
    async fn wait(self: Arc<Self>, ctx: ActivityContext) -> Result<String, ActivityError> {
        AgenticSession::run(&ctx, async |session| {
            Ok(session.runner(&self.0).run(&clerk(), "hello").await?.final_output)
        })
        .await
    }
}

fn clerk() -> Agent {
    Agent::new("clerk").model("gpt-5")
}

fn threads() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:")).expect("a count of threads");
    count.trim().parse().expect("a number")
}

#[test]
fn runs_wait_only_where_a_test_has_started_them() -> anyhow::Result<()> {
    if std::env::var(TASK).is_err() {
        skip_entry_point();
        return Ok(());
    }
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(async { timeout(Duration::from_mins(2), wait()).await });
    runtime.shutdown_background();
    ended?
}

async fn wait() -> anyhow::Result<()> {
    let none = || Arc::new(Semaphore::new(0));
    let model = Silent { asked: none(), dropped: none() };
    let runner = InlineRunner::new(model.clone());
    let mut runs = JoinSet::new();
    for _ in 0..RUNS {
        let runner = runner.clone();
        runs.spawn(async move { runner.run(&clerk(), "hello").await.map(|_| ()).map_err(anyhow::Error::from) });
    }
    for _ in 0..RUNS {
        let runner = runner.clone();
        runs.spawn(async move {
            let env = SessionEnvironment::new().register_activities(move || Waits(runner.clone()));
            env.attempt().run(Waits::wait, ()).await.result.map(|_| ()).map_err(anyhow::Error::from)
        });
    }
    let all = u32::try_from(2 * RUNS)?;
    model.asked.acquire_many(all).await?.forget();
    // Beside them the blocking pool is free.
    spawn_blocking(|| ()).await?;
    let threads = threads();
    println!("{threads} threads while {RUNS} inline runs and {RUNS} sessions wait for a model");
    anyhow::ensure!(threads <= MOST_THREADS, "{threads} threads, {MOST_THREADS} are allowed");
    runs.shutdown().await;
    // Each call is given up once nobody waits for its run.
    model.dropped.acquire_many(all).await?.forget();
    Ok(())
}
