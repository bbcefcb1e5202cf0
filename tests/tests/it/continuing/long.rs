//! Very long runs. `AGENTS_TEST_TURNS=5000` makes them as long as they may be in earnest; the default keeps the tests short.

use serde_json::json;

use super::support::{Limits, Shortens, pages, read_with};
use crate::examples::Cache;

fn turns() -> u32 {
    std::env::var("AGENTS_TEST_TURNS").ok().and_then(|turns| turns.parse().ok()).unwrap_or(60)
}

#[tokio::test]
async fn a_very_long_run_ends_as_a_short_one_does() -> anyhow::Result<()> {
    let turns = turns();
    let limits = Limits { new_events: turns * 12 / 6, ..Limits::default() };
    let finished = read_with(pages(turns), limits, None, Cache::On).await?;
    let result = finished.result.clone().map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert_eq!((&result["final_output"], &result["turns"]), (&json!("The end."), &json!(turns + 1)));
    assert!(finished.histories.len() > 5, "{}", finished.histories.len());
    Ok(())
}

#[tokio::test]
async fn a_very_long_run_that_is_trimmed_keeps_its_histories_small() -> anyhow::Result<()> {
    let turns = turns();
    let limits = Limits { new_events: turns * 12 / 6, ..Limits::default() };
    let finished = read_with(pages(turns), limits, Some(Shortens::Newest(10_000)), Cache::On).await?;
    let result = finished.result.clone().map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    assert_eq!((&result["final_output"], &result["turns"]), (&json!("The end."), &json!(turns + 1)));
    assert_eq!(finished.count("agents.keep_state").iter().sum::<usize>(), 0);
    Ok(())
}
