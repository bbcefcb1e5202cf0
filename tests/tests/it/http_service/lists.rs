//! Lists of runs and questions without workers: complete, in pages, for each caller the own ones.
//!
//! `WAITING_RUNS=1200` lets one test have so many waiting runs; with `--nocapture` it prints what a list and a pushed
//! question take.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use axum::{
    Router,
    http::{StatusCode, header},
};
use futures::StreamExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Runner, agent_handlers,
    http::{AccessPolicy, AgentsService, Caller},
    wire::ModelCall,
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, text, tool_call, tool_calls},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, NamespacedClient, Url};
use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use tokio::time::timeout;

use super::{builder, clerk, environment, get, post, readers::data, replica, request, send, until};
use crate::{
    PATIENCE,
    cipher::{Cipher, ciphered},
    examples::executions_of,
};

/// Everybody sees the runs whose ids begin with the own name, which is the token.
pub(crate) struct Own;

impl AccessPolicy for Own {
    fn authenticate(&self, authorization: Option<&str>) -> Option<Caller> {
        Some(Caller { name: Some(authorization?.strip_prefix("Bearer ")?.to_owned()) })
    }

    fn may_see(&self, caller: &Caller, run_id: &str) -> bool {
        caller.name.as_ref().is_some_and(|name| run_id.starts_with(&**name))
    }
}

/// Asks for a payment in each run, and ends once it is made.
fn pays() -> FakeModel {
    pays_at(&Arc::new(Mutex::new(Instant::now())))
}

/// Does the same, and notes when it has last asked.
fn pays_at(asked: &Arc<Mutex<Instant>>) -> FakeModel {
    let asked = Arc::clone(asked);
    FakeModel::function(move |call: &ModelCall, _| -> Reply {
        if call.input.iter().any(|item| item.get("output").is_some()) {
            return text("Paid.");
        }
        *asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        tool_call("pay", json!({"amount": 40}))
    })
}

async fn get_as(service: &Router, name: &str, path: &str) -> anyhow::Result<Value> {
    let mut request = request("GET", path, None);
    request.headers_mut().insert(header::AUTHORIZATION, format!("Bearer {name}").parse()?);
    let (status, body) = send(service, request).await?;
    anyhow::ensure!(status == StatusCode::OK, "{path}: {status} {body}");
    Ok(serde_json::from_str(&body)?)
}

/// The entries of all pages, each of at most this many.
pub(crate) async fn pages(
    service: &Router,
    name: &str,
    path: &str,
    member: &str,
    limit: usize,
) -> anyhow::Result<Vec<Value>> {
    let (mut all, mut after) = (Vec::new(), String::new());
    loop {
        let page = get_as(service, name, &format!("{path}limit={limit}{after}")).await?;
        let found = page[member].as_array().expect("a list").clone();
        assert!(found.len() <= limit, "{page}");
        assert_ne!(page["complete"], json!(false), "{page}");
        all.extend(found);
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return Ok(all),
        }
    }
}

fn ids(rows: &[Value], member: &str) -> Vec<String> {
    let mut ids: Vec<String> = rows.iter().map(|row| row[member].as_str().expect("an id").to_owned()).collect();
    ids.sort();
    ids
}

#[tokio::test]
async fn callers_list_all_own_questions_and_runs_without_workers() -> anyhow::Result<()> {
    let count: usize = std::env::var("WAITING_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(14);
    let asked = Arc::new(Mutex::new(Instant::now()));
    let mut env = environment(pays_at(&asked), false).await?;
    let local = replica(&env);
    let queue = env.task_queue().to_owned();
    let mut expected = Vec::new();
    for number in 0..count.div_ceil(2) {
        for name in ["ann", "bob"] {
            let id = format!("{name}-{queue}-{number}");
            let input = format!("\n Kitchen {number} of {name}\nPlease pay.");
            let new = json!({"agent": "clerk", "input": input, "id": id});
            assert_eq!(post(&local, "/runs", &new).await?.0, StatusCode::CREATED);
            expected.push(id);
        }
    }
    for id in &expected {
        until(&local, &format!("/runs/{id}"), |run| run["status"] == "waiting").await?;
    }
    env.stop_worker().await?;
    // The server's list lags behind.
    let listed = async {
        while pages(&local, "", "/questions?", "questions", 200).await?.len() < expected.len() {}
        anyhow::Ok(())
    };
    timeout(PATIENCE, listed).await??;
    let service = AgentsService::new(env.client(), &queue).agents((clerk,)).access(Own).into_router();
    expected.sort();
    let own = |name: &str| -> Vec<String> { expected.iter().filter(|id| id.starts_with(name)).cloned().collect() };
    for name in ["ann", "bob"] {
        let begin = Instant::now();
        let questions = pages(&service, name, "/questions?", "questions", (count / 4).clamp(3, 200)).await?;
        println!("{} questions of {name}, of {count} runs that wait: {:?}", questions.len(), begin.elapsed());
        assert_eq!(ids(&questions, "run_id"), own(name));
        assert!(questions.iter().all(|question| question["arguments"] == "{\"amount\":40}"), "{questions:?}");
        let runs = pages(&service, name, "/runs?", "runs", (count / 7).clamp(2, 200)).await?;
        assert_eq!(ids(&runs, "id"), own(name));
        let is_waiting = |run: &Value| run["status"] == "waiting" && run["agent"] == "clerk";
        assert!(runs.iter().all(is_waiting), "{runs:?}");
        let waiting = pages(&service, name, "/runs?status=waiting&agent=clerk&", "runs", 50).await?;
        assert_eq!(waiting, runs);
        let kitchens = pages(&service, name, &format!("/runs?title=kITCHEN%204%20OF%20{name}&"), "runs", 2).await?;
        let titles: Vec<&Value> = kitchens.iter().map(|run| &run["title"]).collect();
        assert_eq!(titles, [&json!(format!("Kitchen 4 of {name}"))]);
        assert_eq!(pages(&service, name, "/runs?status=completed&", "runs", 50).await?, [] as [Value; 0]);
        assert_eq!(pages(&service, name, "/runs?agent=nobody&", "runs", 50).await?, [] as [Value; 0]);
    }
    let refused = get(&local, "/runs?after=nonsense").await?;
    assert_eq!(refused.0, StatusCode::BAD_REQUEST, "{}", refused.1);
    env.start_worker()?;
    // One more question, which is pushed to a reader that has the others.
    let mut lists = data(&local, "/questions/events").await?;
    let last = format!("ann-{queue}-last");
    let new = json!({"agent": "clerk", "input": "Please pay.", "id": last});
    assert_eq!(post(&local, "/runs", &new).await?.0, StatusCode::CREATED);
    let pushed = async {
        let is_asked = |question: &Value| question["run_id"] == last;
        while let Some(list) = lists.next().await {
            if list["questions"].as_array().is_some_and(|all| all.iter().any(is_asked)) {
                return;
            }
        }
        panic!("the stream has ended without the question");
    };
    timeout(PATIENCE, pushed).await?;
    let after = asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
    println!("a question was pushed {after:?} after the model's answer");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn runs_that_have_ended_follow_the_open_ones_in_pages() -> anyhow::Result<()> {
    let env = environment(pays(), false).await?;
    let service = replica(&env);
    let queue = env.task_queue().to_owned();
    let id = |number: usize| format!("run-{queue}-{number}");
    for number in 0..5 {
        let new = json!({"agent": "clerk", "input": "Pay.", "id": id(number), "summary": format!("Payment {number}")});
        assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
        until(&service, &format!("/runs/{}", id(number)), |run| run["status"] == "waiting").await?;
    }
    for number in [1, 3] {
        let path = format!("/runs/{}", id(number));
        let (_, run) = get(&service, &path).await?;
        let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
        assert_eq!(post(&service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
        until(&service, &path, |run| run["status"] == "completed").await?;
    }
    until(&service, "/runs?status=completed", |list| list["runs"].as_array().is_some_and(|all| all.len() == 2)).await?;
    let guarded = AgentsService::new(env.client(), &queue).agents((clerk,)).access(Own).into_router();
    let runs = pages(&guarded, "run", "/runs?", "runs", 2).await?;
    let titles: Vec<&str> = runs.iter().filter_map(|run| run["title"].as_str()).collect();
    assert_eq!(titles, ["Payment 4", "Payment 2", "Payment 0", "Payment 3", "Payment 1"]);
    let open = pages(&guarded, "run", "/runs?open=true&", "runs", 1).await?;
    assert_eq!(open, runs[..3]);
    let ended = pages(&guarded, "run", "/runs?status=completed&", "runs", 1).await?;
    assert_eq!(ended, runs[3..]);
    env.finish().await?;
    Ok(())
}

/// The numbers of open questions in the memo of a workflow, after each change.
fn recorded(histories: &[History]) -> Vec<usize> {
    let changes = histories.iter().flat_map(|history| &history.events).filter_map(|event| match &event.attributes {
        Some(Attributes::WorkflowPropertiesModifiedEventAttributes(modified)) => {
            let asked = modified.upserted_memo.as_ref()?.fields.get("agents.questions")?;
            let asked: Value = serde_json::from_slice(&asked.data).expect("the memo is JSON");
            Some(asked["questions"].as_array().expect("a list").len())
        }
        _ => None,
    });
    changes.collect()
}

#[rstest]
#[tokio::test]
async fn the_memo_follows_each_decision_and_replays(
    #[values(true, false)] cached: bool,
    #[values(true, false)] moves: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls([("pay", json!({"amount": 1})), ("pay", json!({"amount": 2}))]),
        text("Paid both."),
    ]);
    let environment = builder(model, moves)?;
    let env = if cached { environment } else { environment.without_workflow_cache() }.start().await?;
    let service = replica(&env);
    let id = format!("both-{}", env.task_queue());
    let path = format!("/runs/{id}");
    let new = json!({"agent": "clerk", "input": "Pay.", "id": id});
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    until(&service, &path, |run| run["status"] == "waiting").await?;
    let (_, run) = get(&service, &path).await?;
    for number in 0..2 {
        let decision = json!({"question_id": run["questions"][number]["question_id"], "approved": true});
        assert_eq!(post(&service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
        // The memo of a workflow is read as the workflow has it.
        until(&service, &path, |run| run["questions"].as_array().is_none_or(|open| open.len() == 1 - number)).await?;
    }
    until(&service, &path, |run| run["status"] == "completed").await?;
    let histories = executions_of(env.client(), &id).await?;
    // A run that has continued as new records its pause again.
    let mut recorded = recorded(&histories);
    recorded.dedup();
    assert_eq!(recorded, [2, 1, 0]);
    for history in &histories {
        env.replay(history).await?;
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_cancelled_message_of_a_chat_leaves_no_question() -> anyhow::Result<()> {
    let env = environment(FakeModel::script([tool_call("pay", json!({"amount": 40}))]), false).await?;
    let service = replica(&env);
    let id = format!("chat-{}", env.task_queue());
    assert_eq!(
        post(&service, "/runs", &json!({"agent": "clerk", "chat": true, "id": id})).await?.0,
        StatusCode::CREATED
    );
    let message = json!({"text": "Pay me 40."});
    assert_eq!(post(&service, &format!("/runs/{id}/messages"), &message).await?.0, StatusCode::ACCEPTED);
    let path = format!("/runs/{id}");
    until(&service, &path, |run| run["status"] == "waiting").await?;
    assert_eq!(get(&service, &path).await?.1["title"], "clerk", "the chat began without a message");
    assert!(post(&service, &format!("{path}/cancel"), &json!({})).await?.0.is_success());
    until(&service, &path, |run| run["status"] == "cancelled").await?;
    until(&service, "/questions", |list| *list == json!({"questions": [], "complete": true})).await?;
    let histories = executions_of(env.client(), &id).await?;
    assert_eq!(recorded(&histories), [1, 0]);
    for history in &histories {
        env.replay(history).await?;
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_memo_that_cannot_be_decoded_makes_the_list_incomplete() -> anyhow::Result<()> {
    let env = builder(pays(), false)?.data_converter(ciphered(Cipher(7))).start().await?;
    let id = format!("hidden-{}", env.task_queue());
    let new = json!({"agent": "clerk", "input": "Pay me 40.", "id": id});
    let service = replica(&env);
    assert_eq!(post(&service, "/runs", &new).await?.0, StatusCode::CREATED);
    until(&service, "/questions", |list| list["questions"][0]["tool"] == "pay").await?;
    // A process without the codec knows that something waits, and not what.
    let connection = ConnectionOptions::new(format!("http://{}", env.server().address()).parse::<Url>()?).build();
    let options = ClientOptions::new(env.client().namespace()).build();
    let client = Client::new(Connection::connect(connection).await?, options)?;
    let blind = AgentsService::new(&client, env.task_queue()).agents((clerk,)).into_router();
    let (status, list) = get(&blind, "/questions").await?;
    assert_eq!((status, &list["questions"], &list["complete"]), (StatusCode::OK, &json!([]), &json!(false)));
    assert!(list["reason"].as_str().is_some_and(|reason| reason.contains(&id)), "{list}");
    let (_, list) = get(&blind, "/runs").await?;
    assert_eq!((&list["runs"][0]["id"], &list["runs"][0]["status"]), (&json!(id), &json!("other")));
    env.finish().await?;
    Ok(())
}

#[workflow]
#[derive(Default)]
struct Refunds {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl Refunds {
    #[run(name = "refunds")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&clerk(), question).await?.final_output)
    }
}

#[tokio::test]
async fn a_workflow_of_an_author_is_listed_and_decided() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder().workflow::<Refunds>()?.agent(clerk).model(&pays()).start().await?;
    let started = env.start_workflow(Refunds::run, "Pay me 40.".to_owned()).await?;
    env.agent_handle(&started).wait_for_interruptions().await?;
    let service = AgentsService::new(env.client(), env.task_queue()).agents((clerk,));
    let (others, service) = (service.clone().into_router(), service.workflow_types(["refunds"]).into_router());
    until(&service, "/questions", |list| list["questions"].as_array().is_some_and(|all| all.len() == 1)).await?;
    let (_, list) = get(&service, "/questions").await?;
    let question = &list["questions"][0];
    let path = format!("/runs/{}", question["run_id"].as_str().expect("an id"));
    assert_eq!(get(&others, &path).await?.0, StatusCode::NOT_FOUND);
    let (_, list) = get(&service, "/runs").await?;
    let run = &list["runs"][0];
    assert_eq!(
        (&run["kind"], &run["workflow_type"], &run["status"], &run["title"]),
        (&json!("workflow"), &json!("refunds"), &json!("waiting"), &json!("refunds"))
    );
    let decision = json!({"question_id": question["question_id"], "approved": true});
    assert_eq!(post(&service, &format!("{path}/decisions"), &decision).await?.0, StatusCode::OK);
    timeout(PATIENCE, env.await_run(&started)).await??.output()?;
    let (_, run) = get(&service, &path).await?;
    assert_eq!((&run["status"], &run["output"]), (&json!("completed"), &json!("Paid.")));
    env.finish().await?;
    Ok(())
}
