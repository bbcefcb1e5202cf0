//! Chats of frontends: AG-UI and the AI SDK, with runs that are tasks.

use std::time::Duration;

use axum::{Router, http::header};
use http_body_util::BodyExt;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Resources, RunConfig,
    client::AgentRuns,
    http::{AgentsService, BearerToken},
    in_process::InProcessRuns,
    store::SqlStore,
    wire::ModelFailureKind,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{failure, text, tool_call, tool_calls},
};

use tokio::time::timeout;
use tower::ServiceExt;

use super::support::{Database, clerk, get, post, request, set, stream, workflows};
use crate::PATIENCE;

fn model() -> FakeModel {
    FakeModel::script([tool_call("pay", json!({"amount": 40})), text("It is settled."), text("Good bye.")])
}

/// The request of an AG-UI client with one message of the user.
fn agui(run: &str, words: &str, resume: Value) -> Value {
    json!({
        "threadId": "t", "runId": run, "messages": [{"id": "m", "role": "user", "content": words}],
        "tools": [], "context": [], "resume": resume,
    })
}

/// Talks to two replicas in turn: a message, the decision on its call, another message.
async fn talk(replicas: [&Router; 2], approved: bool) -> anyhow::Result<Vec<Vec<Value>>> {
    let [one, other] = replicas;
    let say = |service, run, words, resume| {
        let body = agui(run, words, resume);
        async move { stream(service, "POST", "/agui/clerk", Some(&body)).await }
    };
    let asked = say(one, "r1", "Pay me 40.", json!([])).await?;
    let interrupt = &asked.last().expect("a last event")["outcome"]["interrupts"][0]["id"];
    let resume = json!([{"interruptId": interrupt, "status": "resolved", "payload": {"approved": approved}}]);
    let decided = say(other, "r2", "Pay me 40.", resume.clone()).await?;
    // Sent again, it is the same.
    assert_eq!(normal(&say(one, "r2", "Pay me 40.", resume).await?), normal(&decided));
    let last = say(other, "r3", "Good bye.", json!([])).await?;
    Ok(vec![asked, decided, last])
}

/// Removes the ids of runs and the times.
fn normal(events: &[Value]) -> Vec<Value> {
    let ids = events.iter().filter_map(|event| event["messageId"].as_str()?.split_once('/').map(|(run, _)| run));
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    let normal = |event: &Value| {
        let mut event = event.clone();
        event.as_object_mut().expect("an event is an object").remove("timestamp");
        let text = ids.iter().fold(event.to_string(), |text, id| text.replace(id, "RUN"));
        serde_json::from_str(&text).expect("an event")
    };
    joined(events.iter().map(normal).collect())
}

/// Joins the parts of texts, whose number depends on the transport of deltas.
fn joined(events: Vec<Value>) -> Vec<Value> {
    let mut joined: Vec<Value> = Vec::new();
    for event in events {
        match joined.last_mut() {
            Some(last) if last["type"] == "TEXT_MESSAGE_CONTENT" && last["type"] == event["type"] => {
                let text = format!("{}{}", last["delta"].as_str().unwrap_or(""), event["delta"].as_str().unwrap_or(""));
                last["delta"] = text.into();
            }
            _ => joined.push(event),
        }
    }
    joined
}

#[rstest]
#[tokio::test]
async fn a_chat_over_agui_has_the_same_events_in_both_modes(
    #[values(true, false)] approved: bool,
) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model_of_tasks = model();
    let replicas = [database.replica(&model_of_tasks).await?, database.replica(&model_of_tasks).await?];
    let of_tasks = talk([&replicas[0], &replicas[1]], approved).await?;
    let (env, service) = workflows(&model()).await?;
    let of_workflows = talk([&service, &service], approved).await?;
    for (task, workflow) in of_tasks.iter().zip(&of_workflows) {
        assert_eq!(normal(task), normal(workflow));
    }
    assert_eq!(of_tasks[2].last().expect("a last event")["outcome"]["type"], "success");
    assert_eq!(model_of_tasks.calls().len(), 3);
    // A third replica returns the conversation.
    let third = database.replica(&FakeModel::script([])).await?;
    let seen = stream(&third, "GET", "/agui/clerk/t", None).await?;
    let snapshot = seen.iter().find(|event| event["type"] == "MESSAGES_SNAPSHOT").expect("the messages");
    assert!(snapshot.to_string().contains("Good bye."), "{snapshot}");
    env.finish().await?;
    Ok(())
}

/// Asks for two payments; approves the first, then rejects the second.
async fn decide_one_by_one(service: &Router) -> anyhow::Result<Vec<Vec<Value>>> {
    let say = |run, resume| {
        let body = agui(run, "Pay me twice.", resume);
        async move { stream(service, "POST", "/agui/clerk", Some(&body)).await }
    };
    let decide = |interrupt: &Value, approved: bool| json!([{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": approved}}]);
    let asked = say("r1", json!([])).await?;
    let interrupts = asked.last().expect("a last event")["outcome"]["interrupts"].clone();
    assert_eq!(interrupts.as_array().map(Vec::len), Some(2), "{asked:#?}");
    let first = say("r2", decide(&interrupts[0], true)).await?;
    // The run makes the approved call, and pauses again for the other.
    assert!(
        first.iter().any(|event| event["type"] == "TOOL_CALL_RESULT" && event["content"] == "paid 1"),
        "{first:#?}"
    );
    let open = &first.last().expect("a last event")["outcome"]["interrupts"];
    assert_eq!((open.as_array().map(Vec::len), &open[0]["id"]), (Some(1), &interrupts[1]["id"]), "{first:#?}");
    let again = say("r2", decide(&interrupts[0], true)).await?;
    assert_eq!(normal(&again), normal(&first));
    let last = say("r3", decide(&interrupts[1], false)).await?;
    assert_eq!(last.last().expect("a last event")["outcome"]["type"], "success", "{last:#?}");
    Ok(vec![asked, first, last])
}

/// Asks for two payments, and approves both in one request.
async fn decide_together(service: &Router) -> anyhow::Result<()> {
    let say = |run, resume| {
        let body = agui(run, "Pay me twice.", resume);
        async move { stream(service, "POST", "/agui/clerk", Some(&body)).await }
    };
    let asked = say("r1", json!([])).await?;
    let interrupts = asked.last().expect("a last event")["outcome"]["interrupts"].clone();
    let approve = |interrupt: &Value| json!({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": true}});
    let resume: Vec<Value> = interrupts.as_array().expect("a list").iter().map(approve).collect();
    let decided = say("r2", json!(resume)).await?;
    // The run makes the first call before it has the second decision.
    let results = decided.iter().filter(|event| event["type"] == "TOOL_CALL_RESULT");
    let results: Vec<&Value> = results.map(|event| &event["content"]).collect();
    assert_eq!(results, ["paid 1", "paid 2"], "{decided:#?}");
    assert_eq!(decided.last().expect("a last event")["outcome"]["type"], "success", "{decided:#?}");
    assert_eq!(normal(&say("r2", json!(resume)).await?), normal(&decided));
    Ok(())
}

#[tokio::test]
async fn calls_that_are_decided_in_one_request_have_their_results_in_both_modes() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    decide_together(&database.replica(&twice()).await?).await?;
    let (env, service) = workflows(&twice()).await?;
    decide_together(&service).await?;
    env.finish().await?;
    Ok(())
}

/// A model that asks for two payments, and ends.
fn twice() -> FakeModel {
    let calls = [("pay", json!({"amount": 1})), ("pay", json!({"amount": 2}))];
    FakeModel::script([tool_calls(calls), text("It is settled.")])
}

#[tokio::test]
async fn calls_that_are_decided_one_by_one_have_the_same_events_in_both_modes() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let of_tasks = decide_one_by_one(&database.replica(&twice()).await?).await?;
    let (env, service) = workflows(&twice()).await?;
    let of_workflows = decide_one_by_one(&service).await?;
    for (task, workflow) in of_tasks.iter().zip(&of_workflows) {
        assert_eq!(normal(task), normal(workflow));
    }
    env.finish().await?;
    Ok(())
}

/// The events of an AG-UI client and the chunks of one of the AI SDK: a message whose model call fails, and the next
/// one.
async fn fail_once(service: &Router) -> anyhow::Result<[Vec<Vec<Value>>; 2]> {
    let ai_sdk = |id: &str| {
        let user = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "Hello?"}]});
        json!({"id": "c", "messages": [user], "trigger": "submit-message"})
    };
    let agui = |run| agui(run, "Hello?", json!([]));
    let mut seen = [Vec::new(), Vec::new()];
    for run in ["r1", "r2"] {
        seen[0].push(stream(service, "POST", "/agui/clerk", Some(&agui(run))).await?);
    }
    for message in ["m1", "m2"] {
        seen[1].push(stream(service, "POST", "/chat/clerk", Some(&ai_sdk(message))).await?);
    }
    Ok(seen)
}

fn failing_model() -> FakeModel {
    let broken = || failure(ModelFailureKind::BadRequest, "the model is broken");
    FakeModel::script([broken(), text("Good day."), broken(), text("Good day.")])
}

#[tokio::test]
async fn a_message_that_fails_is_an_error_to_frontends_and_the_chat_continues() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let [agui_of_tasks, ai_sdk_of_tasks] = fail_once(&database.replica(&failing_model()).await?).await?;
    let (env, service) = workflows(&failing_model()).await?;
    let [agui_of_workflows, ai_sdk_of_workflows] = fail_once(&service).await?;
    for (of_tasks, of_workflows) in agui_of_tasks.iter().zip(&agui_of_workflows) {
        // The error of a workflow also names the type of the activity's failure.
        let of_workflows = json!(normal(of_workflows)).to_string().replace("ModelInvocationError.BadRequest: ", "");
        assert_eq!(json!(normal(of_tasks)).to_string(), of_workflows);
    }
    for (agui, ai_sdk) in [(&agui_of_tasks, &ai_sdk_of_tasks), (&agui_of_workflows, &ai_sdk_of_workflows)] {
        let [failed, answered] = &agui[..] else { anyhow::bail!("two runs") };
        let error = failed.last().expect("a last event");
        assert_eq!(error["type"], "RUN_ERROR");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("the model is broken")), "{error}");
        assert_eq!(answered.last().expect("a last event")["outcome"]["type"], "success");
        let [failed, answered] = &ai_sdk[..] else { anyhow::bail!("two messages") };
        let error = failed.iter().find(|chunk| chunk["type"] == "error").expect("an error");
        assert!(error["errorText"].as_str().is_some_and(|message| message.contains("the model is broken")), "{error}");
        assert!(answered.iter().all(|chunk| chunk["type"] != "error"), "{answered:?}");
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_of_the_ai_sdk_has_a_refused_call_and_its_answer() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::script([tool_call("pay", json!({"amount": 40})), text("Not today.")]);
    let (one, other) = (database.replica(&model).await?, database.replica(&model).await?);
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Pay me 40."}]});
    let body = json!({"id": "c", "messages": [user], "trigger": "submit-message"});
    let asked = stream(&one, "POST", "/chat/clerk", Some(&body)).await?;
    let approval = asked.iter().find(|chunk| chunk["type"] == "tool-approval-request").expect("a question");
    assert_eq!(get(&other, "/chat/clerk/nobody/stream").await?.0, 404);
    let part = json!({
        "type": "dynamic-tool", "toolCallId": approval["toolCallId"], "toolName": "pay", "state": "approval-responded",
        "input": {}, "approval": {"id": approval["approvalId"], "approved": false, "reason": "closed"},
    });
    let answer = json!({"id": "m1-answer", "role": "assistant", "parts": [part]});
    let body = json!({"id": "c", "messages": [user, answer], "trigger": "submit-message", "messageId": "m1-answer"});
    let chunks = stream(&other, "POST", "/chat/clerk", Some(&body)).await?;
    let texts: String = chunks
        .iter()
        .filter(|chunk| chunk["type"] == "text-delta")
        .filter_map(|chunk| chunk["delta"].as_str())
        .collect();
    assert_eq!(texts, "Not today.", "{chunks:#?}");
    assert!(chunks.iter().any(|chunk| chunk["type"] == "tool-output-denied"));
    assert_eq!(get(&other, "/chat/clerk/c/stream").await?.0, 204);
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_sent_again_counts_once_and_an_ended_chat_takes_none() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = FakeModel::script([text("Once.")]);
    let (one, other) = (database.replica(&model).await?, database.replica(&model).await?);
    let first = stream(&one, "POST", "/agui/clerk", Some(&agui("r1", "Hi.", json!([])))).await?;
    let again = stream(&other, "POST", "/agui/clerk", Some(&agui("r1", "Hi.", json!([])))).await?;
    assert_eq!(normal(&first), normal(&again));
    assert_eq!(model.calls().len(), 1);
    assert_eq!(post(&other, "/runs/clerk:t/cancel", &json!({})).await?.0, 202);
    super::support::until(&one, "clerk:t", "cancelled").await?;
    assert_eq!(post(&one, "/agui/clerk", &agui("r2", "Hi.", json!([]))).await?.0, 409);
    Ok(())
}

/// A chat takes messages of 128 KiB in all while it is busy.
#[rstest]
#[tokio::test]
async fn a_message_that_a_chat_refuses_is_a_conflict(#[values(true, false)] is_workflow: bool) -> anyhow::Result<()> {
    let model = FakeModel::script([text("Late.").delayed(Duration::from_mins(10))]);
    let database = Database::sqlite().await?;
    let (env, service) = if is_workflow {
        let (env, service) = workflows(&model).await?;
        (Some(env), service)
    } else {
        (None, database.replica(&model).await?)
    };
    let chat = env.as_ref().map_or("chat".to_owned(), |env| format!("chat-{}", env.task_queue()));
    post(&service, "/runs", &json!({"agent": "clerk", "chat": true, "id": chat})).await?;
    let say = async |id: &str, text: &str| {
        post(&service, &format!("/runs/{chat}/messages"), &json!({"id": id, "text": text})).await
    };
    assert_eq!(say("m1", "Hi.").await?.0, 202);
    let path = format!("/runs/{chat}/events");
    super::support::first(&service, &path, "model_call_scheduled").await?;
    let long = "x".repeat(100 * 1024);
    assert_eq!(say("m2", &long).await?.0, 202);
    let (status, refused) = say("m3", &long).await?;
    assert_eq!((status.as_u16(), &refused["error"]["code"]), (409, &json!("refused")));
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("128 KiB")), "{refused}");
    if let Some(env) = env {
        post(&service, &format!("/runs/{chat}/cancel"), &json!({})).await?;
        env.finish().await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_user_of_a_thread_is_the_caller_who_begins_it() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let store = SqlStore::connect(&database.url).await?;
    // A run that keeps decisions fails without a user.
    let config = RunConfig::builder().keep_decisions(true).build();
    let resources = Resources::new().model_provider(FakeModel::script([text("Hello.")])).decision_store(store.clone());
    let tasks = InProcessRuns::new(store, set().config(config), resources);
    let service = AgentsService::with_runs(AgentRuns::in_process(&tasks)).agents((clerk,));
    let service = service.access(BearerToken::new("secret", "ann")).into_router();
    let mut asked = request("POST", "/agui/clerk", Some(&agui("r1", "Hi.", json!([]))));
    asked.headers_mut().insert(header::AUTHORIZATION, "Bearer secret".parse()?);
    let body = timeout(PATIENCE, service.oneshot(asked).await?.into_body().collect()).await??.to_bytes();
    let answer = String::from_utf8(body.to_vec())?;
    assert!(answer.contains("RUN_FINISHED") && answer.contains("Hello."), "{answer}");
    Ok(())
}
