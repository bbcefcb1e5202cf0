//! Calls whose provider or whose streams are lost in the middle.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    remote::{
        message::{RESULT_EVENT, ToolResultMessage, result_stream},
        transport::{MemoryTransport, Streams},
    },
    tool::{OUTCOME_UNKNOWN, RemoteToolset},
    wire::AgentRequest,
    workflow::AgentWorkflow,
};
use temporal_agents_testing::{FakeModel, fake_model::tool_calls};
use temporalio_client::WorkflowCancelOptions;
use tokio::{task::JoinHandle, time::timeout};

use super::support::{Gates, caller, described, environment, model, provider, run, told};
use crate::PATIENCE;

fn serve(gates: &Gates, streams: &MemoryTransport) -> JoinHandle<()> {
    let provider = provider(gates, streams.clone());
    tokio::spawn(async move { provider.serve(std::future::pending()).await })
}

/// Returns the answer of a call whose provider is lost in the middle, and the number of times that
/// its body ran. If `clears`, the streams lose everything, too.
async fn answer(tool: &str, clears: bool) -> anyhow::Result<(String, usize)> {
    let (streams, gates) = (MemoryTransport::new(), Gates::default());
    let first = serve(&gates, &streams);
    let model = model(&[(tool, json!({}))]);
    let agent = caller(&RemoteToolset::named("demo").timeout(Duration::from_mins(1)), described());
    let env = environment(&agent, &model, streams.clone(), true).await?;
    let replaced = async {
        gates.begun.notified().await;
        first.abort();
        let _ = first.await;
        if clears {
            streams.clear();
        }
        let _second = serve(&gates, &streams);
        // Lets every later call end.
        loop {
            gates.ends.notify_one();
            gates.begun.notified().await;
        }
    };
    tokio::select! {
        outcome = run(&env, async {}) => outcome?,
        () = replaced => {}
    }
    env.finish().await?;
    let calls = gates.calls.lock().expect("not poisoned").clone();
    assert!(calls.windows(2).all(|pair| pair[0] == pair[1]), "one id: {calls:?}");
    Ok((told(&model).remove(0), calls.len()))
}

#[rstest]
#[case::not_idempotent("held", OUTCOME_UNKNOWN, 1)]
#[case::idempotent("repeatable", "ended", 2)]
#[tokio::test]
async fn a_call_whose_provider_is_lost_is_repeated_only_if_its_tool_is_idempotent(
    #[case] tool: &str,
    #[case] told: &str,
    #[case] times: usize,
    #[values(false, true)] clears: bool,
) -> anyhow::Result<()> {
    assert_eq!(answer(tool, clears).await?, (told.to_owned(), times));
    Ok(())
}

#[tokio::test]
async fn the_cancellation_of_a_run_reaches_its_provider() -> anyhow::Result<()> {
    let streams = MemoryTransport::new();
    let gates = Gates::default();
    let serving = serve(&gates, &streams);
    let agent = caller(&RemoteToolset::named("demo"), described());
    let model = FakeModel::script([tool_calls([("held", json!({}))])]);
    let env = environment(&agent, &model, streams.clone(), true).await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("caller", "Work.")).await?;
    gates.begun.notified().await;
    started.cancel(WorkflowCancelOptions::default()).await?;
    env.await_run(&started).await?;
    let key = gates.calls.lock().expect("not poisoned")[0].clone();
    let reading = async {
        let results = result_stream(&key);
        let mut after = None;
        loop {
            let entries = streams.read(&results, after, 100, Duration::from_secs(1)).await?;
            after = entries.last().map(|entry| entry.id).or(after);
            if let Some(result) = entries.into_iter().find(|entry| entry.event == RESULT_EVENT) {
                return anyhow::Ok(serde_json::from_slice::<ToolResultMessage>(&result.payload)?);
            }
        }
    };
    let result = timeout(PATIENCE, reading).await??;
    assert_eq!(result.error.map(|error| error.code).as_deref(), Some("cancelled"));
    env.finish().await?;
    serving.abort();
    Ok(())
}
