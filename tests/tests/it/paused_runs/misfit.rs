//! States that do not fit the agents they are taken up with.

use rstest::rstest;
use temporal_agents::{
    Agent, RunError,
    inline::InlineRunner,
    run::{MemorySession, RunOutcome},
    wire::RunState,
};

use super::desk::{Desk, Task, desk, script, written};
use crate::examples::{Cache, histories};

/// All that the state names and the agents of today do not have.
const MISSING: &str = "the state of the run does not match its agents:\n\
                       - agent \"desk\" has no tool \"wire\", but call \"call_0_0\" of it is pending\n\
                       - agent \"desk\" has no tool \"wire\", but call \"call_0_1\" of it is pending\n\
                       - agent \"clerk\" has no tool \"stamp\", but call \"call_1_0\" of it is pending";

/// The state of a desk of another release, whose tools had other names.
async fn paused_in_another_release() -> anyhow::Result<RunState> {
    let inline = InlineRunner::new(script());
    let RunOutcome::Paused(paused) = inline.run(&desk(), "Settle it.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let text = written(&paused.state).replace("\"tool\":\"pay\"", "\"tool\":\"wire\"");
    Ok(serde_json::from_str(&text.replace("\"tool\":\"sign\"", "\"tool\":\"stamp\""))?)
}

#[rstest]
#[tokio::test]
async fn a_workflow_fails_with_all_that_is_missing_and_asks_no_model(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let state = paused_in_another_release().await?;
    let env = cache.environment::<Desk>()?.agents((desk,)).without_models().start().await?;
    let run = env.run(Desk::run, Task::Resume(written(&state))).await?;
    histories::<Desk>(&env, &run.workflow_id).await?;
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), MISSING.to_owned())]);
    assert_eq!(run.activities(), []);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn an_inline_run_fails_with_all_that_is_missing() -> anyhow::Result<()> {
    let state = paused_in_another_release().await?;
    let failure = InlineRunner::default().run(&desk(), state).until_paused().await.expect_err("its tools are gone");
    let RunError::State(mismatch) = failure.error else { anyhow::bail!("{}", failure.error) };
    assert_eq!((mismatch.to_string(), mismatch.issues.len()), (MISSING.to_owned(), 3));
    Ok(())
}

#[tokio::test]
async fn a_state_is_taken_up_only_where_its_agent_is() -> anyhow::Result<()> {
    let inline = InlineRunner::new(script());
    let RunOutcome::Paused(paused) = inline.run(&desk(), "Settle it.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let office = Agent::new("office").model("gpt-5");
    let failure = inline.run(&office, paused.state).until_paused().await.expect_err("there is no desk");
    assert_eq!(
        failure.to_string(),
        "the state of the run does not match its agents:\n\
         - agent \"desk\" is not reachable from \"office\" (reachable agents: office)"
    );
    Ok(())
}

#[rstest]
#[case::was_started_with(true, "is resumed without one")]
#[case::was_not_started_with(false, "cannot be resumed with one")]
#[tokio::test]
async fn a_run_is_not_resumed_where_its_session_is_another_one_than(
    #[case] had_session: bool,
    #[case] expected: &str,
) -> anyhow::Result<()> {
    let (without, with) = (InlineRunner::new(script()), MemorySession::default());
    let with = without.clone().session(&with);
    let (first, second) = if had_session { (with, without) } else { (without, with) };
    let RunOutcome::Paused(paused) = first.run(&desk(), "Settle it.").until_paused().await? else {
        anyhow::bail!("it did not pause")
    };
    let failure =
        second.run(&desk(), paused.state.clone()).until_paused().await.expect_err("the session is another one");
    assert!(failure.to_string().contains(expected), "{failure}");
    assert_eq!(failure.state.as_deref(), Some(&paused.state), "nothing is lost");
    Ok(())
}
