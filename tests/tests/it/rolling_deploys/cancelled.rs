//! Runs that are cancelled while they wait for a worker.

use rstest::rstest;
use temporalio_client::{WorkflowCancelOptions, errors::WorkflowGetResultError};

use super::{
    histories::{Missing, Shop, old, shopper},
    release::{timers, waiting},
};
use crate::examples::{Cache, histories};

#[rstest]
#[tokio::test]
async fn a_run_that_waits_for_a_worker_ends_at_once_when_it_is_cancelled(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = shopper();
    let env = cache.environment::<Shop>()?.plugin(|_| old(&model)).start().await?;
    let handle = env.start_workflow(Shop::run, Missing::Fails).await?;
    let summary = waiting(&env, &handle.info().workflow_id).await?;
    assert_eq!(summary, "waiting for a worker that has tool `order`");
    handle.cancel(WorkflowCancelOptions::default()).await?;
    let run = env.await_run(&handle).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    // A worker that is slow may have let another pause begin before it heard of the cancellation.
    assert!(timers(&run.history).len() <= 4, "{:?}", timers(&run.history));
    assert!(matches!(run.output(), Err(WorkflowGetResultError::Cancelled { .. })));
    env.finish().await?;
    Ok(())
}
