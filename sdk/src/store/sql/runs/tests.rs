use std::time::SystemTime;

use serde_json::json;
use tempfile::TempDir;
use temporal_agents_core::wire::{EventKind, Item, RecordedFailure, RunEvent, RunMode, RunStatus, run_place::RunPlace};

use super::*;
use crate::store::SqlStore;

async fn store() -> (TempDir, SqlStore) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", directory.path().join("agents.db").display());
    let store = SqlStore::connect(&url).await.unwrap();
    (directory, store)
}

fn event(id: &str, kind: EventKind) -> RunEvent {
    let mut event = RunEvent::new(kind);
    (event.id, event.run, event.agent, event.cursor) =
        (id.into(), "r".into(), "desk".into(), Some(format!("1.e.{id}.0")));
    event
}

fn started() -> RunEvent {
    let input = vec![Item::message("user", "Where is my parcel?\0")];
    event("1", EventKind::RunStarted { input })
}

fn new(events: Vec<RunEvent>) -> NewEvents {
    NewEvents { events, ..NewEvents::default() }
}

async fn ids(store: &SqlStore, key: &str) -> Vec<(i64, String)> {
    let events = store.events_after(key, 0, 100).await.unwrap();
    events.into_iter().map(|stored| (stored.sequence, stored.event.id)).collect()
}

#[tokio::test]
async fn a_row_follows_the_events_that_are_written() {
    let (_directory, store) = store().await;
    let row = RunRow::new("k", "parcel-7\0", RunMode::InProcess);
    assert!(store.insert_run(&row).await.unwrap());
    assert_eq!(store.run("", "parcel-7\0").await.unwrap().as_ref(), Some(&row));
    let first = new(vec![started(), event("2", EventKind::RunPaused {})]);
    let Appended::Written(row) = store.append_events(&row, &first).await.unwrap() else { panic!("it was written") };
    assert_eq!((row.status, row.agent.as_deref(), row.sequence), (RunStatus::Waiting, Some("desk"), 2));
    let end = RunEnd { status: RunStatus::Completed, at: 5, output: Some(json!("on the ferry")), failure: None };
    let last = NewEvents { events: vec![event("3", EventKind::RunResumed {})], end: Some(end), ..NewEvents::default() };
    assert!(matches!(store.append_events(&row, &last).await.unwrap(), Appended::Written(_)));
    let row = store.run_with_key("k").await.unwrap().unwrap();
    assert_eq!((row.status, row.ended_at, row.output), (RunStatus::Completed, Some(5), Some(json!("on the ferry"))));
    assert_eq!(ids(&store, "k").await, [(1, "1".into()), (2, "2".into()), (3, "3".into())]);
}

#[tokio::test]
async fn of_two_writers_one_writes_the_next_events() {
    let (_directory, store) = store().await;
    let row = RunRow { execution: "e".into(), ..RunRow::new("k", "w", RunMode::Temporal) };
    assert!(store.insert_run(&row).await.unwrap());
    assert!(!store.insert_run(&row).await.unwrap());
    let first = new(vec![started()]);
    let (one, other) = tokio::join!(store.append_events(&row, &first), store.append_events(&row, &first));
    let lost = [one.unwrap(), other.unwrap()].into_iter().filter_map(|outcome| match outcome {
        Appended::Written(_) => None,
        Appended::Lost(row) => Some(row.unwrap()),
    });
    let now: Vec<_> = lost.collect();
    assert_eq!((now.len(), now[0].sequence, now[0].cursor.as_deref()), (1, 1, Some("1.e.1.0")));
    let many = new((2..=120).map(|number| event(&number.to_string(), EventKind::TurnStarted {})).collect());
    assert!(matches!(store.append_events(&now[0], &many).await.unwrap(), Appended::Written(_)));
    assert_eq!(store.events_after("k", 0, 1_000).await.unwrap().len(), 120);
}

#[tokio::test]
async fn the_messages_of_a_run_are_rows_without_those_of_nested_runs() {
    let (_directory, store) = store().await;
    let row = RunRow::new("k", "w", RunMode::Temporal);
    store.insert_run(&row).await.unwrap();
    let answer = |id: &str| {
        let item = Item::message("assistant", "It is on the ferry.");
        event(id, EventKind::Message { text: "It is on the ferry.".into(), item })
    };
    let nested = RunEvent { path: vec!["1-tool-0".into()], ..answer("2") };
    store.append_events(&row, &new(vec![started(), nested, answer("3")])).await.unwrap();
    let query = "SELECT role, agent, content, sequence FROM agents_messages ORDER BY sequence, position";
    let rows: Vec<(String, String, String, i64)> = sqlx::query_as(query).fetch_all(store.pool()).await.unwrap();
    let row = |role: &str, agent: &str, content: &str, at| (role.into(), agent.into(), content.into(), at);
    let expected = [row("user", "", "Where is my parcel?\\0", 1), row("assistant", "desk", "It is on the ferry.", 3)];
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn a_failed_start_is_known_until_the_run_exists() {
    let (_directory, store) = store().await;
    let failed = |reason: &str| FailedStart {
        row: RunRow { task_queue: "support".into(), ..RunRow::new("", "parcel-7", RunMode::Temporal) },
        failure: RecordedFailure::new("StartRunError", reason),
    };
    for reason in ["no server", "still no server"] {
        store.record_failed_start(failed(reason)).await.unwrap();
        let row = store.run("", "parcel-7").await.unwrap().unwrap();
        assert_eq!((row.status, row.failure.unwrap().message), (RunStatus::Failed, reason.to_owned()));
        assert_eq!(ids(&store, &row.key).await, [(1, "start/ended".to_owned())]);
    }
    store.insert_run(&RunRow::new("k", "parcel-7", RunMode::Temporal)).await.unwrap();
    // A start that fails for another reason than that the run exists does not hide it.
    store.record_failed_start(failed("no server")).await.unwrap();
    assert_eq!(store.run("", "parcel-7").await.unwrap().unwrap().key, "k");
    let (count,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM agents_runs").fetch_one(store.pool()).await.unwrap();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn lists_have_the_latest_runs_of_the_filter_first() {
    let (_directory, store) = store().await;
    let filter = RunFilter { namespace: "n".into(), workflow_types: vec!["A".into()], task_queues: vec!["q".into()] };
    for (number, queue) in [(1, "q"), (2, "other"), (3, "q"), (4, "q"), (5, "q")] {
        let row = RunRow {
            namespace: "n".into(),
            workflow_type: "A".into(),
            task_queue: queue.into(),
            started_at: 100 * (number / 2),
            ended_at: (number == 3).then(|| millis(SystemTime::now())),
            execution: format!("e{number}"),
            ..RunRow::new(format!("k{number}"), format!("w{number}"), RunMode::Temporal)
        };
        store.insert_run(&row).await.unwrap();
    }
    let keys = |rows: Vec<ListedRun>| rows.into_iter().map(|row| row.key).collect::<Vec<_>>();
    let begin = RunPlace::default();
    let first = store.runs_after(&filter, &begin, false, 2).await.unwrap();
    assert_eq!(keys(first.clone()), ["k5", "k4"]);
    assert_eq!(keys(store.runs_after(&filter, &first[1].place(), false, 9).await.unwrap()), ["k3", "k1"]);
    assert_eq!(keys(store.runs_after(&filter, &begin, true, 9).await.unwrap()), ["k5", "k4", "k1"]);
    let open = store.open_workflows(&filter, "k1", 9).await.unwrap();
    assert_eq!(open.into_iter().map(|open| open.key).collect::<Vec<_>>(), ["k4", "k5"]);
    let ended = store.ended_executions(&["e1".into(), "e3".into()]).await.unwrap();
    assert_eq!(ended.into_iter().collect::<Vec<_>>(), ["e3"]);
    assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
}

#[tokio::test]
async fn a_list_reads_no_column_that_it_does_not_show() {
    let (_directory, store) = store().await;
    let filter = RunFilter { namespace: "n".into(), workflow_types: vec!["A".into()], task_queues: vec!["q".into()] };
    let row = RunRow {
        namespace: "n".into(),
        workflow_type: "A".into(),
        task_queue: "q".into(),
        title: Some("Kitchen of Ada".into()),
        ..RunRow::new("k", "w", RunMode::Temporal)
    };
    store.insert_run(&row).await.unwrap();
    // A reader of these columns would fail.
    sqlx::query("UPDATE agents_runs SET output = '{', failure = '{'").execute(store.pool()).await.unwrap();
    assert!(store.run_with_key("k").await.is_err());
    let listed = store.runs_after(&filter, &RunPlace::default(), false, 9).await.unwrap();
    assert_eq!(listed, [ListedRun::from(row)]);
    assert_eq!(store.open_workflows(&filter, "", 9).await.unwrap().len(), 1);
}

#[tokio::test]
async fn of_runs_with_one_id_the_latest_is_listed() {
    let (_directory, store) = store().await;
    let filter = RunFilter { namespace: "n".into(), workflow_types: vec!["A".into()], task_queues: vec!["q".into()] };
    for (key, started_at) in [("first", 1), ("second", 2)] {
        let row = RunRow {
            namespace: "n".into(),
            workflow_type: "A".into(),
            task_queue: "q".into(),
            started_at,
            ..RunRow::new(key, "w", RunMode::Temporal)
        };
        store.insert_run(&row).await.unwrap();
    }
    let listed = store.runs_after(&filter, &RunPlace::default(), false, 1).await.unwrap();
    assert_eq!(listed[0].key, "second");
    assert_eq!(store.runs_after(&filter, &listed[0].place(), false, 1).await.unwrap(), []);
}
