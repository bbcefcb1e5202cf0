//! Handlers of a workflow whose run continues as new: they finish first, and cannot continue as new themselves.

use std::time::Duration;

use rstest::rstest;
use serde::{Deserialize, Serialize};
use temporal_agents::{Runner, tool::BoxError, wire::Carried, workflow::ContinueOptions};
use temporal_agents_core::wire::carried::CarriedState;
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::activities};
use temporalio_client::{
    Client, RpcOptions, WorkflowExecuteUpdateOptions, WorkflowHandle, WorkflowStartUpdateOptions,
    errors::WorkflowUpdateError,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult, workflows::join};

use super::support::{pages, reader};
use crate::{
    examples::{Cache, Played, histories},
    held_model::HeldModel,
};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Visit {
    Begins,
    /// With an agent in a handler, which must not continue as new.
    IsForHandlers,
    /// With two runs at the same time.
    IsDouble,
    /// With something in the input that leaves no room for the state.
    IsLaden,
    Laden(Carried, String),
    Continued(Carried),
}

/// Reads in its run method; visitors wait for the next page, or until the reader leaves.
#[workflow]
#[derive(Default)]
pub(crate) struct Parlour {
    is_leaving: bool,
    is_over: bool,
}

#[workflow_methods]
impl Parlour {
    #[run(name = "parlour")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, visit: Visit) -> WorkflowResult<String> {
        let runner = continuing(ctx)
            .on_continue_as_new(|parlour| parlour.is_leaving = true)
            .on_continue_as_new_aborted(|parlour| parlour.is_leaving = false);
        let agent = reader();
        let result = match visit {
            Visit::Begins => runner.run(&agent, "Read it to me.").await?,
            Visit::Continued(carried) => runner.run(&agent, carried).await?,
            Visit::IsLaden => runner.continue_with(laden).run(&agent, "Read it to me.").await?,
            Visit::Laden(carried, _) => runner.continue_with(laden).run(&agent, carried).await?,
            Visit::IsForHandlers => {
                ctx.wait_condition(|parlour| parlour.is_over).await?;
                return Ok("over".to_owned());
            }
            Visit::IsDouble => {
                let (first, second) =
                    join!(runner.run(&agent, "One.").into_future(), runner.run(&agent, "Two.").into_future());
                return Ok(match (first, second) {
                    (Err(first), Err(second)) if first.continues_as_new() => second.to_string(),
                    other => format!("{other:?}"),
                });
            }
        };
        ctx.state_mut(|parlour| parlour.is_over = true);
        ctx.wait_condition(|_| ctx.all_handlers_finished()).await?;
        Ok(result.final_output)
    }

    /// Waits until all is read, and says whether anybody is leaving.
    #[update]
    pub(crate) async fn hear_it_all(ctx: &mut WorkflowContext<Self>) -> Result<bool, BoxError> {
        ctx.wait_condition(|parlour| parlour.is_over).await?;
        Ok(ctx.state(|parlour| parlour.is_leaving))
    }

    /// Waits until the reader leaves this execution.
    #[update]
    pub(crate) async fn listen(ctx: &mut WorkflowContext<Self>) -> Result<String, BoxError> {
        ctx.wait_condition(|parlour| parlour.is_leaving).await?;
        Ok("to be continued".to_owned())
    }

    /// Reads in a handler.
    #[update]
    pub(crate) async fn read(ctx: &mut WorkflowContext<Self>) -> Result<String, BoxError> {
        let read = continuing(ctx).run(&reader(), "Read it to me.").await;
        ctx.state_mut(|parlour| parlour.is_over = true);
        Ok(read?.final_output)
    }
}

fn laden(carried: Carried) -> Visit {
    let luggage = if matches!(carried.state, CarriedState::Inline { .. }) { 2_000_000 } else { 0 };
    Visit::Laden(carried, "x".repeat(luggage))
}

fn continuing(ctx: &WorkflowContext<Parlour>) -> Runner<Parlour> {
    let options = ContinueOptions::builder().new_events(0).handler_timeout(Duration::from_secs(1)).build();
    Runner::new(ctx).continue_with(Visit::Continued).continue_when(options)
}

async fn parlour(model: &FakeModel, cache: Cache) -> anyhow::Result<AgentEnvironment> {
    Ok(cache.environment::<Parlour>()?.model_provider(model.clone()).agents((reader,)).start().await?)
}

/// Plays the runs whose histories are golden: a handler is at work when the workflow would continue as new.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<String>> {
    let held = HeldModel::new(&pages(1));
    let env = cache.environment::<Parlour>()?.model_provider(held.clone()).agents((reader,)).start().await?;
    let started = env.start_workflow(Parlour::run, Visit::Begins).await?;
    let parlour: WorkflowHandle<Client, Parlour> = env.client().get_workflow_handle(&*started.info().workflow_id);
    held.asked().await?;
    let hearing = parlour.start_update(Parlour::hear_it_all, (), WorkflowStartUpdateOptions::default()).await?;
    held.answer();
    held.answer();
    assert!(!hearing.get_result(RpcOptions::default()).await?, "nobody leaves any more");
    let run = env.await_run(&parlour).await?;
    let histories = histories::<Parlour>(&env, &started.info().workflow_id).await?;
    env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: Vec::new() })
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_handler_is_told_and_finishes_before_the_workflow_continues_as_new(
    #[case] cache: Cache,
) -> anyhow::Result<()> {
    let held = HeldModel::new(&pages(1));
    let env = cache.environment::<Parlour>()?.model_provider(held.clone()).agents((reader,)).start().await?;
    let started = env.start_workflow(Parlour::run, Visit::Begins).await?;
    let parlour: WorkflowHandle<Client, Parlour> = env.client().get_workflow_handle(&*started.info().workflow_id);
    held.asked().await?;
    let listening = parlour.start_update(Parlour::listen, (), WorkflowStartUpdateOptions::default()).await?;
    held.answer();
    assert_eq!(listening.get_result(RpcOptions::default()).await?, "to be continued");
    held.answer();
    assert_eq!(env.await_run(&parlour).await?.output()?, "The end.");
    assert_eq!(histories::<Parlour>(&env, &started.info().workflow_id).await?.len(), 2);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_in_a_handler_fails_where_it_would_continue_as_new() -> anyhow::Result<()> {
    let env = parlour(&pages(1), Cache::On).await?;
    let started = env.start_workflow(Parlour::run, Visit::IsForHandlers).await?;
    let parlour: WorkflowHandle<Client, Parlour> = env.client().get_workflow_handle(&*started.info().workflow_id);
    let read = parlour.execute_update(Parlour::read, (), WorkflowExecuteUpdateOptions::default()).await;
    let Err(WorkflowUpdateError::Failed(failure)) = read else { anyhow::bail!("it should have failed: {read:?}") };
    let failure = format!("{failure:?}");
    assert!(
        failure.contains("have not finished within 1s. If this run is inside one of them, move it to the workflow"),
        "{failure}"
    );
    assert_eq!(env.await_run(&parlour).await?.output()?, "over");
    assert_eq!(histories::<Parlour>(&env, &started.info().workflow_id).await?.len(), 1);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_second_of_two_runs_at_the_same_time_fails_at_once() -> anyhow::Result<()> {
    let env = parlour(&pages(1), Cache::On).await?;
    let run = env.run(Parlour::run, Visit::IsDouble).await?;
    assert_eq!(
        run.output()?,
        "Two runs at the same time cannot both continue as new: the workflow would continue with one of them and lose \
         the other. Run one after the other, or let none of those that run at the same time continue as new. (agent \
         \"reader\")"
    );
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_run_stays_as_long_as_a_handler_waits_for_it(#[case] cache: Cache) -> anyhow::Result<()> {
    let played = recorded(cache).await?;
    assert_eq!(played.output, "The end.");
    assert_eq!(played.histories.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_state_that_fits_into_the_input_but_not_with_the_rest_is_kept_in_history() -> anyhow::Result<()> {
    let env = parlour(&pages(1), Cache::On).await?;
    let run = env.run(Parlour::run, Visit::IsLaden).await?;
    let histories = histories::<Parlour>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "The end.");
    let kept =
        |history| activities(history).iter().filter(|activity| activity.activity_type == "agents.keep_state").count();
    assert_eq!(histories.iter().map(kept).collect::<Vec<_>>(), [1, 0]);
    env.finish().await?;
    Ok(())
}
