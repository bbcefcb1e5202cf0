//! The same agents and the same script have the same events in both modes.

use axum::Router;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::wire::ModelFailureKind;
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, failure, handoff, text, tool_call, tool_calls},
};

use super::support::{Database, Kind, events, post, send, until, workflows};

/// What a person does when the run waits.
#[derive(Clone, Copy, Debug)]
enum Person {
    Nobody,
    Approves,
    Refuses,
    Supplies,
    Cancels,
}

fn script(name: &str) -> Vec<Reply> {
    let pays = || tool_call("pay", json!({"amount": 40}));
    match name {
        "plain" => vec![text("Good morning.").chunk_size(3)],
        "tools" => vec![
            tool_calls([("price", json!({"article": "tea"})), ("price", json!({"article": "moon"}))]),
            handoff("helper"),
            tool_call("price", json!({"article": "cup"})),
            text("Tea is 40."),
        ],
        "approval" => vec![pays(), text("It is settled.")],
        "client" => vec![tool_call("ask_page", json!({})), text("The page has answered.")],
        "failure" => vec![
            tool_call("price", json!({"article": "tea"})),
            failure(ModelFailureKind::BadRequest, "no such parameter"),
        ],
        other => panic!("there is no script {other:?}"),
    }
}

/// Plays a script, and returns the facts.
async fn play(service: &Router, id: &str, person: Person) -> anyhow::Result<Vec<Value>> {
    let new = json!({"agent": "clerk", "input": "Please.", "id": id, "labels": {"customer": "7"}});
    anyhow::ensure!(post(service, "/runs", &new).await?.0 == 201);
    if !matches!(person, Person::Nobody) {
        let run = until(service, id, "waiting").await?;
        let question = &run["questions"][0]["question_id"];
        let (path, body) = match person {
            Person::Approves => ("decisions", json!({"question_id": question, "approved": true})),
            Person::Refuses => ("decisions", json!({"question_id": question, "approved": false, "message": "no"})),
            Person::Supplies => ("outputs", json!({"question_id": question, "output": {"title": "Tea"}})),
            Person::Nobody | Person::Cancels => ("cancel", json!({})),
        };
        let (status, body) = post(service, &format!("/runs/{id}/{path}"), &body).await?;
        anyhow::ensure!(status.is_success(), "{status} {body}");
    }
    events(service, id, "?deltas=false").await
}

/// Removes what differs between two runs of one script: ids of runs, times, cursors; and the causes
/// of failures, which in a workflow are Temporal's own.
fn normal(facts: Vec<Value>) -> Vec<Value> {
    let run = facts.iter().find_map(|fact| fact["run"].as_str().filter(|run| !run.is_empty())).map(str::to_owned);
    let normal = |mut fact: Value| {
        let members = fact.as_object_mut().expect("an event is an object");
        for name in ["time", "cursor"] {
            members.remove(name);
        }
        if let Some(failure) = members.get_mut("failure").and_then(Value::as_object_mut) {
            failure.remove("cause");
        }
        // A workflow names the type of the failure in its message as well.
        let mut text = fact.to_string().replace("ModelInvocationError.BadRequest: ", "");
        if let Some(run) = &run {
            text = text.replace(run.as_str(), "RUN");
        }
        if let Some((before, after)) = text.split_once("workflow~")
            && let Some((_, after)) = after.split_once('/')
        {
            text = format!("{before}workflow~/{after}");
        }
        serde_json::from_str(&text).expect("an event")
    };
    let mut facts: Vec<Value> = facts.into_iter().map(normal).collect();
    // Calls of one response end in any order.
    let is_result = |fact: &Value| fact["kind"] == "tool_output" || fact["kind"] == "tool_failed";
    for results in facts.chunk_by_mut(|one, other| is_result(one) && is_result(other)) {
        results.sort_by_key(|result| result["call_id"].to_string());
    }
    facts
}

#[rstest]
#[case::plain("plain", Person::Nobody)]
#[case::tools("tools", Person::Nobody)]
#[case::approved("approval", Person::Approves)]
#[case::refused("approval", Person::Refuses)]
#[case::cancelled("approval", Person::Cancels)]
#[case::client_tool("client", Person::Supplies)]
#[case::failed("failure", Person::Nobody)]
#[tokio::test]
async fn both_modes_have_the_same_events(#[case] name: &str, #[case] person: Person) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let in_process = database.replica(&FakeModel::script(script(name))).await?;
    let of_task = play(&in_process, "run-1", person).await?;
    let (env, service) = workflows(&FakeModel::script(script(name))).await?;
    let id = format!("run-of-{}", env.task_queue());
    let of_workflow = play(&service, &id, person).await?;
    let (of_task, of_workflow) = (normal(of_task), normal(of_workflow));
    for (task, workflow) in of_task.iter().zip(&of_workflow) {
        assert_eq!(task, workflow);
    }
    assert_eq!(of_task.len(), of_workflow.len(), "{of_task:#?} {of_workflow:#?}");
    // Also at a replica that did not run it, from the store.
    let replica = database.replica(&FakeModel::script([])).await?;
    assert_eq!(normal(events(&replica, "run-1", "?deltas=false").await?), of_task);
    env.finish().await?;
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_cursor_continues_at_any_replica(#[values(Kind::Sqlite, Kind::Postgres)] kind: Kind) -> anyhow::Result<()> {
    let database = Database::start(kind).await?;
    let owner = database.replica(&FakeModel::script(script("tools"))).await?;
    let facts = play(&owner, "run-1", Person::Nobody).await?;
    let replica = database.replica(&FakeModel::script([])).await?;
    for place in [0, facts.len() / 2, facts.len() - 1] {
        let cursor = facts[place]["cursor"].as_str().expect("a cursor");
        let rest = events(&replica, "run-1", &format!("?deltas=false&from={cursor}")).await?;
        assert_eq!(rest, facts[place + 1..]);
    }
    Ok(())
}

#[tokio::test]
async fn the_owner_streams_deltas_with_the_cursor_of_the_fact_before() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let words = "Good morning, and welcome to the shop.";
    let model = FakeModel::script([tool_call("pay", json!({"amount": 1})), text(words).chunk_size(4)]);
    let owner = database.replica(&model).await?;
    let new = json!({"agent": "clerk", "input": "Please.", "id": "run-1"});
    post(&owner, "/runs", &new).await?;
    let run = until(&owner, "run-1", "waiting").await?;
    let watching = tokio::spawn({
        let owner = owner.clone();
        async move { events(&owner, "run-1", "").await }
    });
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    post(&owner, "/runs/run-1/decisions", &decision).await?;
    let seen = watching.await??;
    let deltas: Vec<&Value> = seen.iter().filter(|event| event["kind"] == "text_delta").collect();
    let told: String = deltas.iter().filter_map(|delta| delta["delta"].as_str()).collect();
    assert_eq!(told, words);
    assert!(deltas.len() >= 5);
    let scheduled = seen.iter().rfind(|event| event["kind"] == "model_call_scheduled").expect("a model call");
    assert!(deltas.iter().all(|delta| delta["cursor"] == scheduled["cursor"]));
    assert!(deltas.iter().all(|delta| delta["message_id"].as_str().is_some_and(|id| id.ends_with("/2-model/0"))));
    Ok(())
}

#[tokio::test]
async fn a_run_of_a_process_has_a_timeline() -> anyhow::Result<()> {
    let model = FakeModel::script(script("approval"));
    let database = Database::sqlite().await?;
    let service = database.replica(&model).await?;
    let new = json!({"agent": "clerk", "input": "Please.", "id": "drawn"});
    anyhow::ensure!(post(&service, "/runs", &new).await?.0 == 201);
    let run = until(&service, "drawn", "waiting").await?;
    let image = send(&service, "GET", "/runs/drawn/timeline.svg", None).await?;
    assert_eq!(image.0, 200, "{}", image.1);
    assert!(image.1.contains("pay waits for a person, undecided"), "{}", image.1);
    let decision = json!({"question_id": run["questions"][0]["question_id"], "approved": true});
    anyhow::ensure!(post(&service, "/runs/drawn/decisions", &decision).await?.0.is_success());
    until(&service, "drawn", "completed").await?;
    let (_, image) = send(&service, "GET", "/runs/drawn/timeline.svg", None).await?;
    let count = |class: &str| image.matches(&format!("</title><rect class=\"{class}\"")).count();
    assert_eq!((count("model"), count("tool"), count("wait")), (2, 1, 1), "{image}");
    Ok(())
}
