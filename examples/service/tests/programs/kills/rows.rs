//! The rows of runs, beside the histories.

use std::time::Duration;

use serde_json::Value;
use sqlx::{AnyPool, any::AnyPoolOptions};
use temporal_agents::client::RunEvents;
use temporalio_client::Client;
use tokio::time::{sleep, timeout};

/// The tables.
pub(super) struct Rows(AnyPool);

impl Rows {
    pub(super) async fn open(url: &str) -> Self {
        sqlx::any::install_default_drivers();
        Self(AnyPoolOptions::new().max_connections(2).connect(url).await.expect("the database"))
    }

    /// Waits until the rows of a run say that it has ended, and compares them with its history.
    /// Returns the number of its events.
    pub(super) async fn check(&self, client: &Client, id: &str, patience: Duration) -> usize {
        let query = "SELECT run_key, sequence FROM agents_runs WHERE id = $1 AND ended_at IS NOT NULL";
        let looking = async {
            loop {
                let found: Vec<(String, i64)> =
                    sqlx::query_as(query).bind(id).fetch_all(&self.0).await.expect("the runs");
                match &found[..] {
                    [] => sleep(Duration::from_millis(100)).await,
                    [run] => return run.clone(),
                    _ => panic!("{id} has several rows: {found:?}"),
                }
            }
        };
        let (key, sequence) = timeout(patience, looking).await.unwrap_or_else(|_| panic!("{id} has no end"));
        let query = "SELECT sequence, event FROM agents_run_events WHERE run_key = $1 ORDER BY sequence";
        let stored: Vec<(i64, String)> = sqlx::query_as(query).bind(&key).fetch_all(&self.0).await.expect("the events");
        assert!(stored.iter().map(|(number, _)| *number).eq(1..=sequence), "{id}: events 1 to {sequence}");
        let facts = facts(client, id).await;
        let stored: Vec<Value> =
            stored.iter().map(|(_, event)| serde_json::from_str(event).expect("an event")).collect();
        assert_eq!(stored, facts, "{id}");
        let query = "SELECT COUNT(*) FROM agents_messages WHERE run_key = $1";
        let (messages,): (i64,) = sqlx::query_as(query).bind(&key).fetch_one(&self.0).await.expect("the messages");
        assert_eq!(usize::try_from(messages), Ok(facts.iter().map(messages_in).sum()), "{id}: messages");
        facts.len()
    }

    /// Returns the items of a thread, in their order.
    pub(super) async fn thread(&self, id: &str) -> Vec<Value> {
        let query = "SELECT item FROM agents_session_items WHERE session_id = $1 ORDER BY position";
        let items: Vec<(String,)> = sqlx::query_as(query).bind(id).fetch_all(&self.0).await.expect("the items");
        items.iter().map(|(item,)| serde_json::from_str(item).expect("an item")).collect()
    }

    /// Returns the number of runs.
    pub(super) async fn count(&self) -> usize {
        let (count,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM agents_runs").fetch_one(&self.0).await.expect("the runs");
        usize::try_from(count).expect("a count")
    }
}

/// Returns the number of messages in an event.
fn messages_in(event: &Value) -> usize {
    if event.get("path").is_some() || event.get("workflow").is_some() {
        return 0;
    }
    match event["kind"].as_str() {
        Some("message") => 1,
        Some("run_started") => {
            let input = event["input"].as_array().map(Vec::as_slice).unwrap_or_default();
            input.iter().filter(|item| item["role"].is_string()).count()
        }
        _ => 0,
    }
}

async fn facts(client: &Client, id: &str) -> Vec<Value> {
    let mut events = RunEvents::new(client).watch(id);
    let mut facts = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.expect("an event");
        facts.push(serde_json::to_value(event).expect("an event is JSON"));
    }
    facts
}
