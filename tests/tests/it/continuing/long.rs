//! Very long runs. `AGENTS_TEST_TURNS=5000` makes them as long as they may be in earnest, and says what they took (`--nocapture`);
//! the default keeps the tests short.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::json;
use temporal_agents::{
    Model, ModelProvider,
    provider::ModelError,
    wire::{Item, ModelCall, ModelResponse, Usage},
};
use temporal_agents_testing::{AgentEnvironment, environment::activities};
use temporalio_client::WorkflowGetResultOptions;

use super::support::{Job, Limits, Reading, Shortens, chain, page_call, reader};

/// Asks for so many pages of so many words, and remembers nothing.
#[derive(Clone, Copy)]
struct Pages {
    count: u32,
    words: usize,
}

impl Model for Pages {
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let output = if call.turn > self.count {
            Item::assistant("The end.")
        } else {
            Item::try_from(page_call(call.turn, self.words)).expect("a call is an object")
        };
        let response = ModelResponse::new(vec![output], Usage::of_tokens(100, 20));
        Box::pin(std::future::ready(Ok(response)))
    }
}

impl ModelProvider for Pages {
    fn model<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>> {
        Box::pin(std::future::ready(Ok(Some(Arc::new(*self) as Arc<dyn Model>))))
    }
}

/// Runs so many turns, replays each history, and gives how many chunks of state each execution has kept.
async fn run(pages: Pages, limits: Limits, shortens: Option<Shortens>) -> anyhow::Result<Vec<usize>> {
    let env =
        AgentEnvironment::builder().workflow::<Reading>()?.model_provider(pages).agents((reader,)).start().await?;
    let handle = env.start_workflow(Reading::run, Job { limits, shortens, is_brief: true, carried: None }).await?;
    let result = handle.get_result(WorkflowGetResultOptions::default()).await?;
    let histories = chain(&env, &handle.info().workflow_id).await?;
    for history in &histories {
        env.replay(history).await?;
    }
    let kept =
        |kind| move |history| activities(history).iter().filter(|activity| activity.activity_type == kind).count();
    let model_calls: Vec<usize> = histories.iter().map(kept("agents.call_model")).collect();
    let chunks = histories.iter().map(kept("agents.keep_state")).collect();
    println!("{} turns: model calls {model_calls:?}, chunks {chunks:?}, peak {}", pages.count, peak());
    assert_eq!((&result["final_output"], &result["turns"]), (&json!("The end."), &json!(pages.count + 1)));
    assert_eq!(result["usage"]["requests"], json!(pages.count + 1));
    assert!(histories.len() > 5, "{model_calls:?}");
    env.finish().await?;
    Ok(chunks)
}

/// What the process has taken at most, with worker and test; Linux says so.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |peak| peak.trim().to_owned())
}

fn turns() -> Option<u32> {
    std::env::var("AGENTS_TEST_TURNS").ok().and_then(|turns| turns.parse().ok())
}

fn limits() -> Limits {
    match turns() {
        Some(_) => Limits::default(),
        None => Limits { new_events: 100, inline_bytes: 10_000, chunk_bytes: 5_000, ..Limits::default() },
    }
}

#[tokio::test]
async fn a_very_long_run_ends_as_a_short_one_does() -> anyhow::Result<()> {
    let chunks = run(Pages { count: turns().unwrap_or(60), words: 60 }, limits(), None).await?;
    assert!(chunks.iter().sum::<usize>() > 0, "its state has outgrown the input: {chunks:?}");
    Ok(())
}

#[tokio::test]
async fn a_very_long_run_with_large_results_is_trimmed() -> anyhow::Result<()> {
    let words = if turns().is_some() { 2_300 } else { 100 };
    let count = turns().map_or(60, |turns| turns / 5);
    let pages = Pages { count, words };
    let chunks = run(pages, limits(), Some(Shortens::Newest(words * 40))).await?;
    assert_eq!(chunks.iter().sum::<usize>(), 0, "what is kept fits into the input");
    Ok(())
}
