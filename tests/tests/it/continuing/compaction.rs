//! Conversations that are shortened before the workflow continues as new.

use std::{collections::BTreeSet, sync::atomic::Ordering};

use rstest::rstest;
use serde_json::json;
use temporal_agents::wire::{Item, ModelCall};

use super::support::{ASKED, Finished, Limits, Shortens, pages, read_with, summarizing};
use crate::examples::Cache;

fn limits() -> Limits {
    Limits { new_events: 30, most_bytes: 6_000, ..Limits::default() }
}

/// A provider refuses an output without its call.
fn is_whole(call: &ModelCall) -> bool {
    let ids = |kind: &str| -> BTreeSet<_> {
        call.input.iter().filter(|item| item.kind() == kind).filter_map(Item::call_id).collect()
    };
    ids("function_call") == ids("function_call_output")
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn the_newest_items_are_kept(#[case] cache: Cache) -> anyhow::Result<()> {
    let finished = read_with(pages(12), limits(), Some(Shortens::Newest(1_500)), cache).await?;
    assert_eq!(finished.model_calls(), [3, 3, 3, 3, 1]);
    let lengths: Vec<_> = finished.calls.iter().map(|call| call.input.len()).collect();
    assert_eq!(lengths, [1, 3, 5, 5, 7, 9, 5, 7, 9, 5, 7, 9, 5]);
    assert!(finished.calls.iter().all(is_whole));
    assert!(finished.calls.iter().all(|call| call.input[0] == Item::user("Read it to me.")));
    let result = finished.result.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert_eq!((&result["turns"], &result["usage"]["requests"]), (&json!(13), &json!(13)));
    assert_eq!(result["new_items"].as_array().map(Vec::len), Some(5), "two turns that were kept, and the answer");
    Ok(())
}

/// Plays the runs whose histories are golden.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Finished> {
    read_with(summarizing(4), limits(), Some(Shortens::Summary(1_000)), cache).await
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn older_items_become_a_summary(#[case] cache: Cache) -> anyhow::Result<()> {
    let finished = read_with(summarizing(7), limits(), Some(Shortens::Summary(1_000)), cache).await?;
    let summaries: Vec<_> = finished.calls.iter().filter(|call| call.definitions.tools.is_empty()).collect();
    let asked: Vec<_> = summaries.iter().map(|call| (call.agent.as_str(), call.turn, call.input.len())).collect();
    assert_eq!(asked, [("reader", 3, 6), ("reader", 6, 9)]);
    let ids: Vec<_> = finished
        .ids("agents.call_model")
        .iter()
        .filter_map(|id| Some(id.strip_suffix("-summary")?[8..].to_owned()))
        .collect();
    assert_eq!(ids, ["-3", "-6"]);
    assert!(finished.calls.iter().all(is_whole));
    let last: Vec<_> =
        finished.calls.last().map(|call| call.input.iter().filter_map(Item::text).collect()).unwrap_or_default();
    assert_eq!(last, ["Read it to me.", "Summary of the conversation so far:\n\nup to turn 6"]);
    let result = finished.result.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert_eq!(
        (&result["turns"], &result["usage"]["requests"]),
        (&json!(8), &json!(10)),
        "summaries cost, but are no turns"
    );
    Ok(())
}

#[tokio::test]
async fn without_a_summary_the_run_goes_on_with_all_of_it() -> anyhow::Result<()> {
    // The model has nothing to say to a summary.
    let finished = read_with(pages(5), limits(), Some(Shortens::Summary(1_000)), Cache::On).await?;
    assert_eq!(finished.calls.last().map(|call| call.input.len()), Some(11));
    assert!(finished.result.is_ok(), "{:?}", finished.result);
    Ok(())
}

#[tokio::test]
async fn the_authors_own_function_says_what_stays() -> anyhow::Result<()> {
    let finished = read_with(pages(5), limits(), Some(Shortens::LastTurn), Cache::On).await?;
    let lengths: Vec<_> = finished.calls.iter().map(|call| call.input.len()).collect();
    assert_eq!(lengths, [1, 3, 5, 3, 5, 7]);
    assert!(finished.result.is_ok(), "{:?}", finished.result);
    Ok(())
}

#[rstest]
#[case(
    Shortens::Torn,
    "the compaction of agent \"reader\" failed: the output of call \"page_3\" is separated from its call"
)]
#[case(Shortens::Fails, "the compaction of agent \"reader\" failed: no idea")]
#[case(Shortens::Panics, "the compaction of agent \"reader\" panicked: at a loss")]
#[tokio::test]
async fn a_function_that_fails_or_tears_a_call_apart_ends_the_run(
    #[case] shortens: Shortens,
    #[case] message: &str,
) -> anyhow::Result<()> {
    let finished = read_with(pages(5), limits(), Some(shortens), Cache::On).await?;
    let failure = finished.result.expect_err("the compaction ends it");
    assert_eq!(failure[0], ("AgentsWorkflowError".to_owned(), message.to_owned()));
    Ok(())
}

#[tokio::test]
async fn what_is_still_too_large_fails_the_run() -> anyhow::Result<()> {
    let limits = Limits { most_bytes: 500, ..limits() };
    let finished = read_with(pages(5), limits, Some(Shortens::Newest(10)), Cache::On).await?;
    let failure = finished.result.expect_err("a turn is larger than the limit");
    assert!(failure[0].1.starts_with("the conversation is too large to continue as new"), "{failure:?}");
    Ok(())
}

#[tokio::test]
async fn a_worker_that_makes_another_text_of_a_state_loses_nothing() -> anyhow::Result<()> {
    // In one chunk, which is what was kept; in several, of which only the first one was: they are kept anew.
    for (chunk_bytes, kept, first_input) in [(100_000, "-keep-0", 5), (500, "-keep-again-1-0", 3)] {
        ASKED.store(0, Ordering::SeqCst);
        let limits = Limits { new_events: 30, inline_bytes: 100, chunk_bytes, ..Limits::default() };
        let finished = read_with(pages(5), limits, Some(Shortens::LessTheNextTime), Cache::Off).await?;
        assert!(finished.result.is_ok(), "{:?}", finished.result);
        assert!(finished.ids("agents.keep_state").iter().any(|id| id.ends_with(kept)), "{finished:?}");
        assert_eq!(finished.calls[3].input.len(), first_input);
    }
    Ok(())
}
