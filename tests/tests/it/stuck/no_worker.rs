//! Nobody takes the tasks: no worker, a worker that has gone, a worker without the plugin.

use axum::http::StatusCode;
use serde_json::{Value, json};
use temporal_agents::{AgentsPlugin, workflow::AgentSet};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::{QUEUE, Site, desk, listed, problem, ready_made, start, streamed};
use crate::http_service::{get, post};

#[tokio::test]
async fn a_run_without_a_worker_says_which_queue_is_not_polled() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let service = site.service((desk,));
    start(&service, "lonely").await?;
    let found = problem(&service, "lonely", "no_worker").await?;
    assert_eq!(found["message"], format!("no worker polls the task queue {QUEUE:?}"));
    assert_eq!(found["remedy"], "Start a worker with this task queue and namespace");
    assert!(found["since"].is_u64(), "{found}");
    assert_eq!(get(&service, "/runs/lonely").await?.1["status"], "queued");
    // A list needs no look at the run.
    let list = listed(&site.service((desk,)), "lonely", "no_worker").await?;
    assert_eq!(list["message"], found["message"]);
    let event = streamed(&service, "GET", "/runs/lonely/events", &Value::Null, "event: problem").await?;
    assert!(event.contains("no worker polls the task queue"), "{event}");
    // Once there is a worker, there is no problem.
    let plugin = AgentsPlugin::new(FakeModel::script([text("paid")])).agents((desk,));
    let mut worker = site.worker(Some(plugin), ready_made(&AgentSet::new((desk,)))?)?;
    crate::http_service::until(&service, "/runs/lonely", |run| run["status"] == "completed").await?;
    assert_eq!(get(&service, "/runs/lonely").await?.1["problem"], Value::Null);
    worker.stop()?;
    site.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_message_that_no_worker_takes_is_refused_with_the_reason() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let service = site.service((desk,));
    let new = json!({"agent": "desk", "chat": true, "id": "silent"});
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    let (status, body) = post(&service, "/runs/silent/messages", &json!({"text": "hello"})).await?;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::GATEWAY_TIMEOUT, &json!("no_worker")));
    let expected = format!(
        "no worker polls the task queue {QUEUE:?}. Start a worker with this task queue and namespace; then send the \
         same request again"
    );
    assert_eq!(body["error"]["message"], expected);
    site.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_worker_without_the_plugin_is_told_to_install_it() -> anyhow::Result<()> {
    let site = Site::start().await?;
    let service = site.service((desk,));
    let mut worker = site.worker(None, ready_made(&AgentSet::new((desk,)))?)?;
    start(&service, "forgotten").await?;
    let found = problem(&service, "forgotten", "activity_not_polled").await?;
    let message =
        format!("the model call waits: a worker polls the task queue {QUEUE:?} for workflows, and none for activities");
    assert_eq!(found["message"], message);
    assert_eq!(found["remedy"], "Install the plugin in the options of the worker: plugin.install(&mut options)?");
    worker.stop()?;
    site.shutdown().await;
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_down_is_said_to_be_unreachable() -> anyhow::Result<()> {
    let site = Site::start_with(temporal_agents_testing::DevServerOptions::default()).await?;
    let service = site.service((desk,));
    start(&service, "cut-off").await?;
    site.server.shutdown().await;
    let (status, body) = get(&service, "/runs/cut-off").await?;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("server_unavailable")));
    let message = "the Temporal server cannot be reached, or has refused the request; send the same request again";
    assert_eq!(body["error"]["message"], message);
    println!("Temporal down: 503 {body}");
    Ok(())
}
