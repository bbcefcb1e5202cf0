//! Chats of frontends: AG-UI and the AI SDK, with runs that are tasks.

use axum::Router;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_call},
};

use super::support::{Database, get, post, stream, workflows};

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
