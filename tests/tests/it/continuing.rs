//! Runs that continue as new by themselves: nothing is lost, nothing happens twice, and every history of the chain replays.

mod approvals;
mod client_outputs;
pub(crate) mod compaction;
pub(crate) mod handlers;
mod long;
pub(crate) mod ready_made;
mod sessions;
pub(crate) mod support;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{RunConfig, inline::InlineRunner};
use temporal_agents_testing::AgentEnvironment;

pub(crate) use self::support::Reading;
use self::support::{Finished, Job, Limits, chain, pages, read, reader, report};
use crate::{
    cipher::{Cipher, ciphered},
    examples::Cache,
    linear_history::{as_text, requests, segments},
};

/// The run without Temporal: what models get, and what it gives back.
async fn in_one_piece(turns: u32) -> anyhow::Result<(Vec<(Vec<String>, Value)>, Value)> {
    let model = pages(turns);
    let config = RunConfig::builder().unlimited_turns().build();
    let runner = InlineRunner::with_config(model.clone(), config);
    let result = runner.run(&reader(), "Read it to me.").await?;
    Ok((as_text(&model.calls()), report(&result)))
}

/// Plays the run with these limits; it must be the one in one piece.
async fn in_pieces(turns: u32, limits: Limits, cache: Cache) -> anyhow::Result<Finished> {
    let (calls, result) = in_one_piece(turns).await?;
    let finished = read(turns, limits, cache).await?;
    assert_eq!(finished.result, Ok(result));
    assert_eq!(as_text(&finished.calls), calls);
    Ok(finished)
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_run_continues_as_new_after_so_many_events(#[case] cache: Cache) -> anyhow::Result<()> {
    let finished = in_pieces(10, Limits { new_events: 30, ..Limits::default() }, cache).await?;
    assert_eq!(finished.model_calls(), [3, 3, 3, 2]);
    Ok(())
}

#[tokio::test]
async fn a_run_continues_as_new_after_so_many_bytes() -> anyhow::Result<()> {
    let finished = in_pieces(10, Limits { new_bytes: 3_000, ..Limits::default() }, Cache::On).await?;
    assert_eq!(finished.model_calls(), [6, 5]);
    Ok(())
}

#[tokio::test]
async fn a_run_does_a_turn_in_each_execution_however_small_the_limits_are() -> anyhow::Result<()> {
    let finished = in_pieces(4, Limits { new_events: 0, new_bytes: 0, ..Limits::default() }, Cache::On).await?;
    assert_eq!(finished.model_calls(), [1, 1, 1, 1, 1]);
    Ok(())
}

/// Histories of a run whose state is carried in the input, then in chunks.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Finished> {
    let limits = Limits { new_events: 30, inline_bytes: 3_000, chunk_bytes: 2_000, ..Limits::default() };
    in_pieces(7, limits, cache).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_large_state_is_carried_in_chunks(#[case] cache: Cache) -> anyhow::Result<()> {
    let limits = Limits { new_events: 30, inline_bytes: 1_000, chunk_bytes: 1_200, ..Limits::default() };
    let finished = in_pieces(7, limits, cache).await?;
    assert_eq!(finished.model_calls(), [3, 3, 2]);
    assert_eq!(finished.count("agents.keep_state"), [3, 5, 0]);
    assert_eq!(finished.count("agents.load_state"), [0, 3, 5]);
    let ids: Vec<_> = finished.ids("agents.load_state").into_iter().map(|id| id[8..].to_owned()).collect();
    let expected: Vec<_> = (0..3).chain(0..5).map(|number| format!("-state-{number}")).collect();
    assert_eq!(ids, expected);
    // What was loaded is in history, and is not sent again.
    let first = requests(&finished.histories[1]).remove(0);
    assert_eq!(segments(&first), ["state 0..7"]);
    let first = requests(&finished.histories[2]).remove(0);
    assert_eq!(segments(&first), ["state 0..13"]);
    Ok(())
}

#[tokio::test]
async fn a_large_state_is_carried_behind_a_codec() -> anyhow::Result<()> {
    let builder = AgentEnvironment::builder().workflow::<Reading>()?.model_provider(pages(7)).agents((reader,));
    let env = builder.data_converter(ciphered(Cipher(7))).start().await?;
    let limits = Limits { new_events: 30, inline_bytes: 1_000, chunk_bytes: 1_200, ..Limits::default() };
    let run = env.run(Reading::run, Job { limits, ..Job::default() }).await?;
    let histories = chain(&env, &run.workflow_id).await?;
    for history in &histories {
        env.replay(history).await?;
        let bytes = prost::Message::encode_to_vec(history);
        assert!(!bytes.windows(6).any(|window| window == b"page 1"), "nobody reads what was said");
    }
    assert_eq!(histories.len(), 3);
    let (_, result) = in_one_piece(7).await?;
    assert_eq!(run.output()?, result);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_state_that_is_too_large_fails_the_run_before_it_is_kept() -> anyhow::Result<()> {
    let limits = Limits { new_events: 30, inline_bytes: 100, most_bytes: 1_500, ..Limits::default() };
    let finished = read(7, limits, Cache::On).await?;
    let failure = finished.result.expect_err("the state is too large");
    let (kind, message) = failure.first().expect("a failure has a message");
    assert_eq!(kind, "AgentsWorkflowError");
    assert!(
        message.starts_with("the conversation is too large to continue as new: the state of the run is "),
        "{message}"
    );
    assert!(message.contains("the limit is 1500 (agent \"reader\"); shorten it with Runner::compaction"), "{message}");
    assert_eq!(finished.histories.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_run_without_enough_new_stays() -> anyhow::Result<()> {
    let finished = in_pieces(3, Limits::default(), Cache::On).await?;
    assert_eq!(finished.model_calls(), [4]);
    assert_eq!(finished.result.map(|result| result["usage"]["requests"].clone()), Ok(json!(4)));
    Ok(())
}
