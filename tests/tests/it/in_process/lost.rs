//! Processes that end: their runs fail, or continue in another process.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;
use sqlx::any::AnyPoolOptions;
use temporal_agents::{in_process::InProcessRuns, store::SqlStore};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call, tool_calls},
};
use tokio::{
    runtime::{Builder, Runtime},
    time::{sleep, timeout},
};

use super::support::{Database, Kind, events, first, get, kinds, post, service, set, stream, until};
use crate::PATIENCE;

/// A process: a runtime that can end at any moment, with all its tasks.
fn process() -> anyhow::Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}

#[rstest]
#[tokio::test]
async fn a_run_of_a_killed_process_fails_with_an_error_event(
    #[values(Kind::Sqlite, Kind::Postgres)] kind: Kind,
) -> anyhow::Result<()> {
    let database = Database::start(kind).await?;
    let replica = database.replica(&FakeModel::script([])).await?;
    let killed = process()?;
    let model = FakeModel::script([text("Never.").delayed(Duration::from_mins(10))]);
    let tasks = database.tasks(&model).await?;
    killed
        .spawn(async move {
            let owner = service(&tasks);
            post(&owner, "/runs", &json!({"agent": "clerk", "input": "Hi.", "id": "run-1"})).await
        })
        .await??;
    until(&replica, "run-1", "running").await?;
    killed.shutdown_background();
    let facts = events(&replica, "run-1", "").await?;
    let last = facts.last().expect("a last event");
    assert_eq!((&last["kind"], &last["failure"]["type"]), (&json!("run_failed"), &json!("ProcessLost")), "{facts:#?}");
    let run = until(&replica, "run-1", "failed").await?;
    assert!(run["failure"]["message"].as_str().is_some_and(|message| message.contains("process")), "{run}");
    // And it is no run of its own for a third one.
    let third = database.replica(&FakeModel::script([])).await?;
    assert_eq!(events(&third, "run-1", "").await?, facts);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_run_that_waits_survives_its_process(#[values(false, true)] is_killed: bool) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let first = process()?;
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40}))]);
    let tasks = database.tasks(&model).await?;
    let started = tasks.clone();
    first
        .spawn(async move {
            let owner = service(&started);
            post(&owner, "/runs", &json!({"agent": "clerk", "input": "Pay.", "id": "run-1"})).await?;
            until(&owner, "run-1", "waiting").await
        })
        .await??;
    if !is_killed {
        first.spawn(async move { tasks.shutdown(Duration::from_secs(5)).await }).await?;
    }
    first.shutdown_background();
    let other = database.replica(&FakeModel::script([text("You have your money.")])).await?;
    let run = until(&other, "run-1", "waiting").await?;
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    assert_eq!(post(&other, "/runs/run-1/decisions", &decision).await?.0, 200);
    let facts = events(&other, "run-1", "?deltas=false").await?;
    let kinds = kinds(&facts);
    for once in ["run_started", "run_paused", "question_asked", "question_decided", "run_resumed", "run_finished"] {
        assert_eq!(kinds.iter().filter(|kind| **kind == once).count(), 1, "{once}: {kinds:?}");
    }
    let run = until(&other, "run-1", "completed").await?;
    assert_eq!(run["output"], "You have your money.");
    Ok(())
}

#[tokio::test]
async fn run_decided_in_part_while_nobody_ran_it_waits_for_the_rest() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let first = process()?;
    let calls = [("pay", json!({"amount": 1})), ("pay", json!({"amount": 2}))];
    let tasks = database.tasks(&FakeModel::script([tool_calls(calls)])).await?;
    let run = first
        .spawn(async move {
            let owner = service(&tasks);
            post(&owner, "/runs", &json!({"agent": "clerk", "input": "Pay.", "id": "run-1"})).await?;
            until(&owner, "run-1", "waiting").await
        })
        .await??;
    first.shutdown_background();
    let other = database.replica(&FakeModel::script([text("You have your money.")])).await?;
    // The decision is there when the run is taken over.
    let decide = |number: usize| json!({"question_id": run["questions"][number]["question_id"], "approved": true});
    assert_eq!(post(&other, "/runs/run-1/decisions", &decide(0)).await?.0, 200);
    let paused = async || -> anyhow::Result<usize> {
        let rows = get(&other, "/runs/run-1").await?.1;
        Ok(rows["questions"].as_array().map_or(0, Vec::len))
    };
    timeout(PATIENCE, async {
        while paused().await? != 1 {}
        anyhow::Ok(())
    })
    .await??;
    assert_eq!(post(&other, "/runs/run-1/decisions", &decide(1)).await?.0, 200);
    until(&other, "run-1", "completed").await?;
    let facts = events(&other, "run-1", "?deltas=false").await?;
    let kinds = kinds(&facts);
    let count = |kind: &str| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!(count("question_decided"), 2, "{kinds:?}");
    // The second decision may arrive before the run pauses again.
    assert!((1..=2).contains(&count("run_paused")), "{kinds:?}");
    assert_eq!(count("run_resumed"), count("run_paused"), "{kinds:?}");
    Ok(())
}

#[tokio::test]
async fn a_run_that_is_under_way_fails_when_its_process_is_stopped() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::script([text("Never.").delayed(Duration::from_mins(10))]);
    let tasks = database.tasks(&model).await?;
    let owner = service(&tasks);
    post(&owner, "/runs", &json!({"agent": "clerk", "input": "Hi.", "id": "run-1"})).await?;
    until(&owner, "run-1", "running").await?;
    tasks.shutdown(Duration::ZERO).await;
    let replica = database.replica(&FakeModel::script([])).await?;
    let run = until(&replica, "run-1", "failed").await?;
    assert!(run["failure"]["message"].as_str().is_some_and(|message| message.contains("stopped")), "{run}");
    Ok(())
}

#[tokio::test]
async fn a_chat_continues_after_the_message_that_was_lost_with_its_process() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let killed = process()?;
    let model = FakeModel::script([text("Never.").delayed(Duration::from_mins(10))]);
    let tasks = database.tasks(&model).await?;
    killed
        .spawn(async move {
            let owner = service(&tasks);
            post(&owner, "/runs", &json!({"agent": "clerk", "chat": true, "id": "clerk:t"})).await?;
            post(&owner, "/runs/clerk:t/messages", &json!({"text": "One.", "id": "m1"})).await?;
            // Its run has begun.
            first(&owner, "/runs/clerk:t/events", "model_call_scheduled").await
        })
        .await??;
    killed.shutdown_background();
    let other = database.replica(&FakeModel::script([text("Two it is.")])).await?;
    let message = json!({"threadId": "t", "runId": "m2", "messages": [{"id": "u", "role": "user", "content": "Two."}]});
    let answer = stream(&other, "POST", "/agui/clerk", Some(&message)).await?;
    assert_eq!(answer.last().expect("a last event")["type"], "RUN_FINISHED", "{answer:#?}");
    assert_eq!(post(&other, "/runs/clerk:t/cancel", &json!({})).await?.0, 202);
    let facts = events(&other, "clerk:t", "?deltas=false").await?;
    let of_runs = kinds(&facts).into_iter().filter(|kind| ["run_failed", "run_finished"].contains(kind));
    assert_eq!(of_runs.collect::<Vec<_>>(), ["run_failed", "run_finished"], "{facts:#?}");
    Ok(())
}

#[tokio::test]
async fn a_process_that_forgets_a_dead_one_beats_on() -> anyhow::Result<()> {
    sqlx::any::install_default_drivers();
    let database = Database::sqlite().await?;
    let store = SqlStore::connect(&database.url).await?;
    let rows = AnyPoolOptions::new().max_connections(1).connect(&database.url).await?;
    sqlx::query("INSERT INTO agents_processes (process, beat) VALUES ('dead', 7)").execute(&rows).await?;
    let tasks = InProcessRuns::new(store, set(), FakeModel::script([])).lease(Duration::from_millis(200));
    // Its first use.
    get(&service(&tasks), "/runs/none").await?;
    let beats = async || -> anyhow::Result<Vec<(String, i64)>> {
        let query = "SELECT process, beat FROM agents_processes";
        Ok(sqlx::query_as(query).fetch_all(&rows).await?)
    };
    let forgets = async {
        while beats().await?.iter().any(|(process, _)| process == "dead") {
            sleep(Duration::from_millis(20)).await;
        }
        let at_first = beats().await?;
        while beats().await? == at_first {
            sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, forgets).await?
}
