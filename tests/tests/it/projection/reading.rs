//! A service that reads runs from a database.

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use temporal_agents::{
    client::{AgentRuns, ChatHandle, NewRun},
    http::AgentsService,
    projection::Projector,
    wire::{AgentRequest, ChatRequest},
};
use temporal_agents_testing::AgentEnvironment;
use temporalio_client::{Client, ClientOptions};
use tokio::time::timeout;
use tower::ServiceExt;

use super::support::{Database, Running, clerk, delete, environment};
use crate::{PATIENCE, databases::Kind};

fn service(env: &AgentEnvironment, database: &Database) -> Router {
    AgentsService::new(env.client(), env.task_queue()).agents((clerk,)).run_store(&database.store).into_router()
}

async fn send(service: &Router, method: &str, path: &str, body: &Value) -> anyhow::Result<(StatusCode, String)> {
    let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
    let request = request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string()))?;
    let response = service.clone().oneshot(request).await?;
    let status = response.status();
    let bytes = timeout(PATIENCE, response.into_body().collect()).await??;
    Ok((status, String::from_utf8(bytes.to_bytes().to_vec())?))
}

async fn get(service: &Router, path: &str) -> anyhow::Result<(StatusCode, Value)> {
    let (status, body) = send(service, "GET", path, &Value::Null).await?;
    Ok((status, serde_json::from_str(&body)?))
}

/// The facts in a stream of events.
async fn facts(service: &Router, path: &str) -> anyhow::Result<Vec<Value>> {
    let (status, body) = send(service, "GET", path, &Value::Null).await?;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert!(body.trim_end().ends_with("event: end\ndata: {}") || body.contains("event: end"), "{body}");
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "{}");
    Ok(data.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

#[tokio::test]
async fn runs_and_events_outlive_the_server_s_retention() -> anyhow::Result<()> {
    let env = environment().await?;
    let database = Database::start(Kind::Sqlite).await?;
    let client = env.client();
    let runs = AgentRuns::new(client, env.task_queue());
    let request = AgentRequest::new("clerk", "Good morning!");
    runs.start_run(NewRun::new(request).id("run").label("customer", "7")).await?;
    runs.start_run(NewRun::chat(ChatRequest::new("clerk")).id("chat")).await?;
    for text in ["one", "two"] {
        ChatHandle::new(client, "chat").send(text).await?;
    }
    ChatHandle::new(client, "chat").end().await?;
    let projector = Running::start(Projector::new(client, &database.store, env.task_queue()));
    for id in ["run", "chat"] {
        database.until(id, |run| run.has_ended).await?;
    }
    projector.stop().await?;

    let alone = AgentsService::new(client, env.task_queue()).agents((clerk,)).into_router();
    let with = service(&env, &database);
    let mut before = Vec::new();
    for id in ["run", "chat"] {
        let path = format!("/runs/{id}/events?deltas=false");
        before.push((get(&alone, &format!("/runs/{id}")).await?.1, facts(&alone, &path).await?));
        assert_eq!(facts(&with, &path).await?, before[before.len() - 1].1);
    }
    for id in ["run", "chat"] {
        delete(client, id).await?;
    }
    for (id, (run, events)) in ["run", "chat"].into_iter().zip(before) {
        let path = format!("/runs/{id}");
        assert_eq!(get(&alone, &path).await?.0, StatusCode::NOT_FOUND);
        let (status, stored) = get(&with, &path).await?;
        assert_eq!(status, StatusCode::OK);
        for member in ["id", "kind", "agent", "status", "output", "labels", "execution"] {
            assert_eq!(stored[member], run[member], "{member}");
        }
        assert_eq!(facts(&with, &format!("{path}/events")).await?, events);
        let (status, image) = send(&with, "GET", &format!("{path}/timeline.svg"), &Value::Null).await?;
        assert!(status == StatusCode::OK && image.contains("</title><rect class=\"model\""), "{image}");
        let cursor = events[2]["cursor"].as_str().expect("a cursor");
        assert_eq!(facts(&with, &format!("{path}/events?from={cursor}")).await?, events[3..]);
        let cancelled = send(&with, "POST", &format!("{path}/cancel"), &json!({})).await?;
        assert_eq!(cancelled.0, StatusCode::CONFLICT);
    }
    let (_, list) = get(&with, "/runs").await?;
    let mut ids: Vec<&str> =
        list["runs"].as_array().expect("runs").iter().filter_map(|run| run["id"].as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["chat", "run"]);
    let foreign = AgentsService::new(client, "another queue").agents((clerk,)).run_store(&database.store).into_router();
    assert_eq!(get(&foreign, "/runs/run").await?.0, StatusCode::NOT_FOUND);
    env.finish().await?;
    Ok(())
}

/// Nobody projects here, and no worker takes the run.
#[tokio::test]
async fn a_started_run_has_a_row_at_once() -> anyhow::Result<()> {
    let env = environment().await?;
    let database = Database::start(Kind::Sqlite).await?;
    let queue = format!("nobody-{}", env.task_queue());
    let service = AgentsService::new(env.client(), &*queue).agents((clerk,)).run_store(&database.store).into_router();
    let new = json!({"agent": "clerk", "input": "Good morning!", "id": queue, "labels": {"customer": "7"}});
    for _ in 0..2 {
        assert_eq!(send(&service, "POST", "/runs", &new).await?.0, StatusCode::CREATED);
    }
    let rows: Vec<(String, String, String, i64)> =
        sqlx::query_as("SELECT id, agent, labels, sequence FROM agents_runs").fetch_all(&database.rows).await?;
    assert_eq!(rows, [(queue.clone(), "clerk".to_owned(), r#"{"customer":"7"}"#.to_owned(), 0)]);
    delete(env.client(), &queue).await?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_whose_start_has_failed_says_why() -> anyhow::Result<()> {
    let env = environment().await?;
    let database = Database::start(Kind::Sqlite).await?;
    // A namespace that the server does not have.
    let nowhere = Client::new(env.client().connection().clone(), ClientOptions::new("nowhere").build())?;
    let service = AgentsService::new(&nowhere, "q").agents((clerk,)).run_store(&database.store).into_router();
    let new = json!({"agent": "clerk", "input": "Good morning!", "id": "run", "labels": {"customer": "7"}});
    for _ in 0..2 {
        assert_eq!(send(&service, "POST", "/runs", &new).await?.0, StatusCode::SERVICE_UNAVAILABLE);
    }
    let (status, run) = get(&service, "/runs/run").await?;
    assert_eq!((status, &run["status"], &run["agent"]), (StatusCode::OK, &json!("failed"), &json!("clerk")));
    let message = run["failure"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("could not be started") && message.contains("nowhere"), "{run}");
    let events = facts(&service, "/runs/run/events").await?;
    assert_eq!((events.len(), &events[0]["kind"]), (1, &json!("run_failed")));
    assert_eq!(facts(&service, "/runs/run/events?from=0.1").await?, [] as [Value; 0]);
    env.finish().await?;
    Ok(())
}
