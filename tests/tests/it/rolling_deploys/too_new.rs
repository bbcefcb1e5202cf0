//! A request that the worker of the release before does not read, for a tool that must not run twice.

#![allow(dead_code, reason = "activities are called by their names")]

use rstest::rstest;
use serde_json::Value;
use temporal_agents_testing::environment::ActivityOutcome;
use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::{
    WorkerOptions,
    activities::{ActivityContext, ActivityError},
};

use super::{
    histories::{Missing, Orders, Shop, new, old, shopper},
    release::{takes_over, waiting},
};
use crate::examples::{Cache, histories};

/// The tool of a release whose messages are a major version older, as its worker answers.
struct Yesterday;

#[activities]
impl Yesterday {
    #[activity(name = "agents.tool.order")]
    #[expect(clippy::unused_async, reason = "an activity is async")]
    async fn order(_ctx: ActivityContext, _request: Value) -> Result<Value, ActivityError> {
        let message = "tool request has wire version 1.2, this build reads 0.x; deploy a newer worker".to_owned();
        let failure = ApplicationFailure::builder(message).type_name("WireVersionMismatch".to_owned()).build();
        Err(ActivityError::Application(Box::new(failure)))
    }
}

#[rstest]
#[tokio::test]
async fn a_tool_with_one_attempt_waits_for_a_newer_worker_and_runs_once(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (model, orders) = (shopper(), Orders::default());
    let builder = cache.environment::<Shop>()?.plugin(|_| old(&model));
    let of_yesterday = |options: &mut WorkerOptions| {
        options.register_activities(Yesterday);
    };
    let mut env = builder.worker_options(of_yesterday).start().await?;
    let handle = env.start_workflow(Shop::run, Missing::Fails).await?;
    let summary = waiting(&env, &handle.info().workflow_id).await?;
    assert_eq!(summary, "waiting for a newer worker that has tool `order`");
    let worker = takes_over::<Shop>(&mut env, new(&model, &orders)).await?;
    let run = env.await_run(&handle).await?;
    histories::<Shop>(&env, &run.workflow_id).await?;
    let too_new = ActivityOutcome::Failed("WireVersionMismatch".to_owned());
    assert!(run.activities().iter().any(|activity| activity.outcome == too_new && activity.attempts == 1));
    assert_eq!((run.output()?, orders.made()), ("nut is ordered".to_owned(), vec![1, 1]));
    drop(worker);
    env.finish().await?;
    Ok(())
}
