//! Decided where it paused: in the same workflow, in the same run of it or in the next.

use rstest::rstest;
use temporal_agents_testing::environment::activities;

use super::desk::{Desk, Outcome, Task, desk, expected, script, told};
use crate::examples::{Cache, histories};

#[rstest]
#[case::in_the_same_run(Task::DecideHere, 1)]
#[case::after_continue_as_new(Task::DecideAndContinue, 2)]
#[tokio::test]
async fn a_paused_run_goes_on_as_it_was_decided(
    #[case] task: Task,
    #[case] runs: usize,
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<Desk>()?.model(&model).agents((desk,)).start().await?;
    let finished = env.run(Desk::run, task).await?;
    let histories = histories::<Desk>(&env, &finished.workflow_id).await?;
    assert_eq!(histories.len(), runs);
    assert_eq!(finished.output()?, Outcome::Finished("done".to_owned()));
    assert_eq!(told(&model), expected());

    let types: Vec<String> = histories.iter().flat_map(activities).map(|activity| activity.activity_type).collect();
    let (model, pay, refund) = ("agents.call_model", "agents.tool.pay", "agents.tool.refund");
    assert_eq!(types, [model, model, pay, refund, model, model, refund, model], "nothing is done twice");
    env.finish().await?;
    Ok(())
}
