//! Calls whose provider or whose streams are lost in the middle.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    remote::transport::MemoryTransport,
    tool::{OUTCOME_UNKNOWN, RemoteToolset},
};
use tokio::task::JoinHandle;

use super::support::{Gates, caller, described, environment, model, provider, run, told};

fn serve(gates: &Gates, streams: &MemoryTransport) -> JoinHandle<()> {
    let provider = provider(gates, streams.clone());
    tokio::spawn(async move { provider.serve(std::future::pending()).await })
}

/// Returns the answer of a call, and the number of times that its body ran.
async fn answer(
    tool: &str,
    lose: impl AsyncFn(&Gates, &MemoryTransport, JoinHandle<()>) -> JoinHandle<()>,
) -> anyhow::Result<(String, usize)> {
    let (streams, gates) = (MemoryTransport::new(), Gates::default());
    let serving = serve(&gates, &streams);
    let model = model(&[(tool, json!({}))]);
    let agent = caller(&RemoteToolset::named("demo").timeout(Duration::from_secs(60)), described());
    let env = environment(&agent, &model, streams.clone(), true).await?;
    let lost = async {
        gates.begun.notified().await;
        let serving = lose(&gates, &streams, serving).await;
        // Lets every later call end.
        loop {
            gates.ends.notify_one();
            gates.begun.notified().await;
            if serving.is_finished() {
                break;
            }
        }
    };
    tokio::select! {
        outcome = run(&env, async {}) => outcome?,
        () = lost => anyhow::bail!("the provider has ended"),
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
async fn a_provider_that_is_lost_in_the_middle_of_a_call(
    #[case] tool: &str,
    #[case] told: &str,
    #[case] times: usize,
) -> anyhow::Result<()> {
    let lose = async |gates: &Gates, streams: &MemoryTransport, serving: JoinHandle<()>| {
        serving.abort();
        let _ = serving.await;
        serve(gates, streams)
    };
    assert_eq!(answer(tool, lose).await?, (told.to_owned(), times));
    Ok(())
}

#[rstest]
#[case::not_idempotent("held", OUTCOME_UNKNOWN, 1)]
#[case::idempotent("repeatable", "ended", 2)]
#[tokio::test]
async fn a_server_that_has_lost_everything_in_the_middle_of_a_call(
    #[case] tool: &str,
    #[case] told: &str,
    #[case] times: usize,
) -> anyhow::Result<()> {
    let lose = async |gates: &Gates, streams: &MemoryTransport, serving: JoinHandle<()>| {
        serving.abort();
        let _ = serving.await;
        streams.clear();
        serve(gates, streams)
    };
    assert_eq!(answer(tool, lose).await?, (told.to_owned(), times));
    Ok(())
}
