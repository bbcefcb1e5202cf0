//! Several projectors with one database.

use rstest::rstest;
use temporal_agents::{
    client::{AgentHandle, AgentRuns, ChatHandle, NewRun},
    projection::Projector,
    store::SqlStore,
    wire::{AgentRequest, ChatRequest},
};

use super::support::{Database, Running, environment, facts};
use crate::databases::Kind;

#[rstest]
#[tokio::test]
async fn projectors_at_the_same_time_write_nothing_twice(
    #[values(Kind::Sqlite, Kind::Postgres)] database: Kind,
) -> anyhow::Result<()> {
    let env = environment().await?;
    let database = Database::start(database).await?;
    let client = env.client();
    let mut projectors = Vec::new();
    for _ in 0..3 {
        let store = SqlStore::connect(&database.url).await?;
        projectors.push(Running::start(Projector::new(client, &store, env.task_queue())));
    }
    let runs = AgentRuns::new(client, env.task_queue());
    let ids: Vec<String> = (0..6).map(|number| format!("run-{number}")).collect();
    for id in &ids {
        runs.start_run(NewRun::new(AgentRequest::new("clerk", "I want my money.")).id(id)).await?;
    }
    runs.start_run(NewRun::chat(ChatRequest::new("clerk")).id("chat")).await?;
    for text in ["one", "two", "three"] {
        ChatHandle::new(client, "chat").send(text).await?;
    }
    ChatHandle::new(client, "chat").end().await?;
    for id in &ids {
        database.until(id, |run| run.status == "waiting").await?;
        let handle = AgentHandle::new(client, &**id);
        let question = handle.state().await?.interruptions[0].id.clone();
        handle.approve(question).await?;
    }
    for id in ids.iter().map(String::as_str).chain(["chat"]) {
        let run = database.until(id, |run| run.has_ended).await?;
        assert_eq!((&*run.status, run.events), ("completed", facts(client, id).await?), "{id}");
    }
    assert_eq!(database.count().await?, 7);
    for projector in projectors {
        projector.stop().await?;
    }
    env.finish().await?;
    Ok(())
}
