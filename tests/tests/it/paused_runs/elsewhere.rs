//! Decided elsewhere: the text of a state goes from one process to another, and from one host to another.

use rstest::rstest;
use temporal_agents::{inline::InlineRunner, run::RunOutcome};

use super::desk::{Desk, Outcome, Task, decide, desk, expected, read, script, shown, told, waiting, written};
use crate::examples::{Cache, histories};

#[rstest]
#[tokio::test]
async fn a_run_that_paused_inline_goes_on_in_a_workflow(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let inline = InlineRunner::new(model.clone());
    let paused = match inline.run(&desk(), "Settle it.").until_paused().await? {
        RunOutcome::Paused(paused) => paused,
        RunOutcome::Finished(result) => anyhow::bail!("it did not pause: {}", result.final_output),
    };
    assert_eq!(shown(paused.interruptions()), waiting());
    let mut state = read(&written(&paused.state));
    decide(&mut state)?;

    let env = cache.environment::<Desk>()?.model(&model).agents((desk,)).start().await?;
    let finished = env.run(Desk::run, Task::Resume(written(&state))).await?;
    histories::<Desk>(&env, &finished.workflow_id).await?;
    assert_eq!(finished.output()?, Outcome::Finished("done".to_owned()));
    assert_eq!(told(&model), expected());
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_paused_in_a_workflow_goes_on_inline(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<Desk>()?.model(&model).agents((desk,)).start().await?;
    let finished = env.run(Desk::run, Task::Pause).await?;
    histories::<Desk>(&env, &finished.workflow_id).await?;
    let Outcome::Paused(text) = finished.output()? else { anyhow::bail!("it did not pause") };
    let mut state = read(&text);
    assert_eq!(shown(state.interruptions()), waiting());
    decide(&mut state)?;
    assert_eq!(shown(state.interruptions()), [], "what is decided does not wait any more");

    let inline = InlineRunner::new(model.clone());
    let result = match inline.run(&desk(), read(&written(&state))).until_paused().await? {
        RunOutcome::Finished(result) => result,
        RunOutcome::Paused(paused) => anyhow::bail!("it waits for {:?}", paused.interruptions()),
    };
    assert_eq!((&*result.final_output, result.turns, result.usage.requests), ("done", 3, 5));
    assert_eq!(told(&model), expected());
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_is_taken_up_without_decisions_pauses_again_in_the_same_state(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let inline = InlineRunner::new(model.clone());
    let RunOutcome::Paused(paused) = inline.run(&desk(), "Settle it.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let env = cache.environment::<Desk>()?.agents((desk,)).without_models().start().await?;
    let finished = env.run(Desk::run, Task::Resume(written(&paused.state))).await?;
    histories::<Desk>(&env, &finished.workflow_id).await?;
    assert_eq!(finished.activities(), [], "no model is asked and no tool runs");
    let Outcome::Paused(text) = finished.output()? else { anyhow::bail!("it did not pause again") };
    let mut ids: Vec<_> = shown(read(&text).interruptions());
    ids.sort();
    assert_eq!(ids, waiting());
    env.finish().await?;
    Ok(())
}
