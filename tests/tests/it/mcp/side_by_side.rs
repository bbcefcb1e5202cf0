//! Calls of one server over HTTP, side by side.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use temporal_agents::{Resources, inline::InlineRunner, tool::McpServer};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use tokio::{sync::Barrier, time::timeout};

use super::{
    answering::{Answer, AnsweringServer, Asked, tools},
    support::{outputs, smith},
};

const CALLS: usize = 64;
/// How long a call waits for the others where they do not come.
const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn as_many_calls_overlap_as_the_worker_makes() -> anyhow::Result<()> {
    let (all, now, most) =
        (Arc::new(Barrier::new(CALLS)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = AnsweringServer::start(move |asked: Asked| {
        let (all, now, most) = (Arc::clone(&all), Arc::clone(&now), Arc::clone(&most));
        async move {
            match &*asked.method {
                "initialize" => Answer::Session("one".to_owned()),
                "tools/list" => Answer::Result(json!({"tools": tools(["slow"])})),
                _ => {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    let waited = timeout(PATIENCE, all.wait()).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    Answer::Text(if waited.is_ok() { "together" } else { "alone" }.to_owned())
                }
            }
        }
    })
    .await?;
    let model = FakeModel::script([tool_calls(vec![("slow", json!({})); CALLS]), text("done")]);
    let runner =
        InlineRunner::new(Resources::new().model_provider(model.clone()).mcp_server("workshop", server.transport()));
    runner.run(&smith(McpServer::named("workshop")), "Work.").await?;
    assert_eq!(seen.load(Ordering::SeqCst), CALLS);
    assert_eq!(outputs(&model), vec![json!("together"); CALLS]);
    Ok(())
}
