//! The database of the runs in a process is down.

use axum::http::StatusCode;
use serde_json::json;
use temporal_agents::{
    client::AgentRuns, http::AgentsService, in_process::InProcessRuns, store::SqlStore, workflow::AgentSet,
};
use temporal_agents_testing::{FakeModel, PostgresServer, fake_model::text};

use super::desk;
use crate::http_service::{get, post, until};

#[tokio::test]
async fn requests_are_unavailable_while_database_is_down() -> anyhow::Result<()> {
    let mut database = PostgresServer::start().await?;
    let store = SqlStore::connect(&database.url("postgres")).await?;
    let runs = InProcessRuns::new(store, AgentSet::new((desk,)), FakeModel::script([text("paid")]));
    let service = AgentsService::with_runs(AgentRuns::in_process(&runs)).agents((desk,)).into_router();
    database.kill();
    let new = json!({"agent": "desk", "input": "Pay me 40.", "id": "unwritten"});
    // At the same time, since each waits for a connection.
    let (runs, run, questions, started) = tokio::try_join!(
        get(&service, "/runs"),
        get(&service, "/runs/unwritten"),
        get(&service, "/questions"),
        post(&service, "/runs", &new),
    )?;
    let message = "the database cannot be reached, or has too many requests; send the same request again";
    let expected = json!({"error": {"code": "database_unavailable", "message": message}});
    for answer in [runs, run, questions, started] {
        assert_eq!(answer, (StatusCode::SERVICE_UNAVAILABLE, expected.clone()));
    }
    println!("database down: 503 {expected}");
    database.restart().await?;
    // The same request is sent again.
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    until(&service, "/runs/unwritten", |run| run["status"] == "completed").await
}
