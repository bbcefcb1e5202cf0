//! Lists of many runs in a database: complete, in pages, without the columns that may be large.

use axum::Router;
use serde_json::{Value, json};
use sqlx::any::AnyPoolOptions;
use temporal_agents::{
    client::AgentRuns,
    http::AgentsService,
    store::{QuestionStore, SqlStore, StoredQuestion},
    wire::AgentInterruption,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::support::{Database, clerk, get, post, service, until};
use crate::http_service::lists::{Own, pages};

/// Number of runs of each caller that wait.
const WAITING: usize = 600;

/// Adds runs of ann and bob that wait, as a process writes them. What a list does not show cannot be
/// read.
async fn add_waiting_runs(url: &str) -> anyhow::Result<()> {
    sqlx::any::install_default_drivers();
    let rows = AnyPoolOptions::new().max_connections(1).connect(url).await?;
    let mut transaction = rows.begin().await?;
    let question = json!({"id": "call_1", "agent": "clerk", "tool": "pay", "arguments": "{\"amount\":40}"});
    let asked = json!({"version": "1.2", "agent": "clerk", "turn": 1, "questions": [question]}).to_string();
    for number in 0..2 * WAITING {
        let name = if number % 2 == 0 { "ann" } else { "bob" };
        let (key, id) = (format!("key-{number:05}"), format!("{name}-{number:05}"));
        // Several begin at the same time.
        let started = i64::try_from(1_000 + number / 7)?;
        let statement = "INSERT INTO agents_runs (run_key, namespace, id, mode, workflow_type, task_queue, agent, labels, \
                         status, execution, started_at, output, failure, sequence, title) VALUES ($1, '', $2, \
                         'inprocess', 'AgentWorkflow', '', 'clerk', '{}', 'waiting', '', $3, '{', '{', 3, $4)";
        let title = format!("Payment {number}");
        sqlx::query(statement).bind(&key).bind(&id).bind(started).bind(title).execute(&mut *transaction).await?;
        let statement = "INSERT INTO agents_tasks (task_key, run, task_owner, request, state, mail, questions) VALUES \
                         ($1, $2, 'another', '{', '{', 0, $3)";
        sqlx::query(statement).bind(&id).bind(&key).bind(&asked).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

#[tokio::test]
async fn all_questions_of_1200_runs_are_listed_for_whom_they_are() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let store = SqlStore::connect(&database.url).await?;
    add_waiting_runs(&database.url).await?;
    // The rows of a process that nobody has started: nothing is taken over.
    let tasks = database.tasks(&FakeModel::script([])).await?.lease(std::time::Duration::from_hours(1));
    let service = AgentsService::with_runs(AgentRuns::in_process(&tasks)).agents((clerk,)).access(Own).into_router();
    drop(store);
    for name in ["ann", "bob"] {
        let questions = pages(&service, name, "/questions?", "questions", 500).await?;
        assert_eq!(questions.len(), WAITING);
        assert!(questions.iter().all(|question| question["run_id"].as_str().is_some_and(|id| id.starts_with(name))));
        let runs = pages(&service, name, "/runs?status=waiting&", "runs", 250).await?;
        assert_eq!(runs.len(), WAITING);
        let mut ids: Vec<&str> = runs.iter().filter_map(|run| run["id"].as_str()).collect();
        ids.dedup();
        assert_eq!(ids.len(), WAITING);
    }
    let found = pages(&service, "ann", "/runs?title=PAYMENT%201118&", "runs", 10).await?;
    assert_eq!((found.len(), &found[0]["id"]), (1, &json!("ann-01118")));
    Ok(())
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_not_an_empty_one() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("Paid.")]);
    let service = database.replica(&model).await?;
    post(&service, "/runs", &json!({"agent": "clerk", "input": "Pay me 40.\nNow.", "id": "run-1"})).await?;
    until(&service, "run-1", "waiting").await?;
    sqlx::any::install_default_drivers();
    let rows = AnyPoolOptions::new().max_connections(1).connect(&database.url).await?;
    sqlx::query("UPDATE agents_tasks SET questions = '{'").execute(&rows).await?;
    let (_, list) = get(&service, "/questions").await?;
    assert_eq!((&list["questions"][0]["run_id"], &list["complete"]), (&json!("run-1"), &json!(true)), "{list}");
    let (_, list) = get(&service, "/runs").await?;
    assert_eq!((&list["runs"][0]["status"], &list["runs"][0]["title"]), (&json!("waiting"), &json!("Pay me 40.")));
    // More questions wait than the record has room for, and the run says which.
    let asked = json!({"version": "1.2", "agent": "clerk", "turn": 1, "questions": [], "left_out": 1}).to_string();
    sqlx::query("UPDATE agents_tasks SET questions = $1").bind(asked).execute(&rows).await?;
    let (_, list) = get(&service, "/questions").await?;
    assert_eq!((&list["questions"][0]["run_id"], &list["complete"]), (&json!("run-1"), &json!(true)), "{list}");
    Ok(())
}

#[tokio::test]
async fn a_chat_has_the_title_of_its_first_message() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let service = database.replica(&FakeModel::script([text("Hello."), text("Hello again.")])).await?;
    post(&service, "/runs", &json!({"agent": "clerk", "chat": true, "id": "chat-1"})).await?;
    let title = async || anyhow::Ok(get(&service, "/runs/chat-1").await?.1["title"].clone());
    assert_eq!(title().await?, "clerk");
    for message in ["Where is my parcel?\nIt is late.", "And now?"] {
        assert_eq!(post(&service, "/runs/chat-1/messages", &json!({"text": message})).await?.0, 202);
    }
    assert_eq!(title().await?, "Where is my parcel?");
    let (_, list) = get(&service, "/runs?title=parcel").await?;
    assert_eq!(list["runs"][0]["id"], "chat-1");
    Ok(())
}

/// A question of a session of this workflow.
fn asked_by(workflow: &str) -> StoredQuestion {
    let call = json!({"id": "call_1", "agent": "reviewer", "tool": "merge", "arguments": "{}"});
    let call: AgentInterruption = serde_json::from_value(call).expect("a call");
    let now = std::time::SystemTime::now();
    StoredQuestion::new(
        format!("{workflow}/run/1/call_1"),
        workflow,
        call,
        now,
        now + std::time::Duration::from_mins(10),
    )
}

async fn post_as(service: &Router, name: &str, path: &str, body: &Value) -> anyhow::Result<u16> {
    let mut request = super::support::request("POST", path, Some(body));
    request.headers_mut().insert("authorization", format!("Bearer {name}").parse()?);
    Ok(tower::ServiceExt::oneshot(service.clone(), request).await?.status().as_u16())
}

#[tokio::test]
async fn questions_of_sessions_are_listed_and_decided() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let tasks = database.tasks(&FakeModel::script([])).await?;
    let store = SqlStore::connect(&database.url).await?;
    for workflow in ["ann-office-1", "bob-office-1", "ann-office-2"] {
        store.ask(&asked_by(workflow)).await.map_err(anyhow::Error::from_boxed)?;
    }
    let service = AgentsService::with_runs(AgentRuns::in_process(&tasks))
        .agents((clerk,))
        .question_store(store.clone())
        .access(Own)
        .into_router();
    let questions = pages(&service, "ann", "/questions?", "questions", 1).await?;
    let runs: Vec<&Value> = questions.iter().map(|question| &question["run_id"]).collect();
    assert_eq!(runs, [&json!("ann-office-1"), &json!("ann-office-2")]);
    let decision = |approved| json!({"question_id": questions[0]["question_id"], "approved": approved});
    let path = "/runs/ann-office-1/decisions";
    assert_eq!(post_as(&service, "bob", path, &decision(true)).await?, 404);
    let output = json!({"question_id": questions[0]["question_id"], "output": 1});
    assert_eq!(post_as(&service, "ann", path, &json!({"question_id": "ann-office-1/x", "approved": true})).await?, 404);
    assert_eq!(post_as(&service, "bob", "/runs/ann-office-1/outputs", &output).await?, 404);
    // The same decision counts once, and another one comes too late.
    for (approved, status) in [(true, 200), (true, 200), (false, 409)] {
        assert_eq!(post_as(&service, "ann", path, &decision(approved)).await?, status);
    }
    let ruling = store.ruling(questions[0]["question_id"].as_str().expect("an id")).await;
    let ruling = ruling.map_err(anyhow::Error::from_boxed)?.expect("a ruling");
    assert_eq!((ruling.approve, ruling.by.as_deref()), (true, Some("ann")));
    assert_eq!(pages(&service, "ann", "/questions?", "questions", 5).await?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_list_of_one_run_follows_the_other_runs_in_pages() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::script((0..3).map(|number| text(format!("answer {number}"))));
    let tasks = database.tasks(&model).await?;
    let local = service(&tasks);
    for number in 0..3 {
        let id = format!("ann-{number}");
        post(&local, "/runs", &json!({"agent": "clerk", "input": "Hello.", "id": id})).await?;
        until(&local, &id, "completed").await?;
    }
    let service = AgentsService::with_runs(AgentRuns::in_process(&tasks)).agents((clerk,)).access(Own).into_router();
    let runs = pages(&service, "ann", "/runs?status=completed&", "runs", 1).await?;
    let ids: Vec<&Value> = runs.iter().map(|run| &run["id"]).collect();
    assert_eq!(ids, [&json!("ann-2"), &json!("ann-1"), &json!("ann-0")]);
    Ok(())
}
