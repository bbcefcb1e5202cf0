//! Results of calls that frontends make, in the orders in which frontends send them.

use axum::Router;
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::wire::{Item, ItemView, ModelFailureKind};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, failure, text, tool_call, tool_calls},
};

use super::support::{Database, post, stream, workflows};

/// A model that asks the page twice after each message of the user, and then says that it is done.
fn asks_twice() -> FakeModel {
    FakeModel::function(|call, _| {
        let is_answered = call.input.last().is_some_and(|item| item.get("output").is_some());
        if is_answered { text("Done.") } else { asks() }
    })
}

fn asks() -> Reply {
    tool_calls([("ask_page", json!({})), ("ask_page", json!({}))])
}

fn user(text: &str) -> Value {
    json!({"id": "m", "role": "user", "content": text})
}

/// The message that clients make of a call without a parent.
fn calling(id: &str) -> Value {
    let function = json!({"name": "ask_page", "arguments": "{}"});
    json!({"id": id, "role": "assistant", "toolCalls": [{"id": id, "type": "function", "function": function}]})
}

fn result(call_id: &str, text: &str) -> Value {
    json!({"id": format!("{call_id}-{text}"), "role": "tool", "toolCallId": call_id, "content": text})
}

fn request(thread: &str, run: &str, messages: &Value) -> Value {
    json!({"threadId": thread, "runId": run, "messages": messages, "tools": [], "context": []})
}

async fn post_messages(service: &Router, thread: &str, run: &str, messages: &Value) -> anyhow::Result<Vec<Value>> {
    stream(service, "POST", "/agui/clerk", Some(&request(thread, run, messages))).await
}

/// The ids of the calls that wait at the end of a stream.
fn pending(events: &[Value]) -> Vec<String> {
    let outcome = &events.last().expect("a last event")["outcome"];
    let ids = outcome["pendingToolCallIds"].as_array().into_iter().flatten();
    ids.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The outputs that the model has received with its latest call.
fn outputs(model: &FakeModel) -> Vec<Value> {
    let call = model.calls().pop().expect("a call of the model");
    let is_message = |item: &&Item| matches!(item.view(), ItemView::Message { .. });
    let latest = call.input.iter().rposition(|item| is_message(&item)).map_or(0, |at| at + 1);
    call.input[latest..].iter().filter_map(|item| item.get("output").cloned()).collect()
}

/// The orders of the messages of two calls, from their ids.
fn order(name: &str, one: &str, two: &str) -> Value {
    let (call_one, call_two) = (calling(one), calling(two));
    let (red, blue) = (result(one, "red"), result(two, "blue"));
    match name {
        "each behind its call" => json!([user("Ask."), call_one, red, call_two, blue]),
        "behind both calls" => json!([user("Ask."), call_one, call_two, blue, red]),
        "before the calls" => json!([user("Ask."), blue, red, call_one, call_two]),
        _ => json!([
            result("foreign", "green"), user("Ask."), call_one, result(one, ""), {"id": "x", "role": "tool", "content": "nameless"},
            red, call_two, result(two, "pink"), blue, result("foreign", "grey"),
        ]),
    }
}

#[rstest]
#[tokio::test]
async fn results_reach_the_model_in_any_order(
    #[values("each behind its call", "behind both calls", "before the calls", "doubled and among foreign ones")]
    name: &str,
) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = asks_twice();
    let service = database.replica(&model).await?;
    let ids = pending(&post_messages(&service, "t", "r1", &json!([user("Ask.")])).await?);
    let messages = order(name, &ids[0], &ids[1]);
    let answered = post_messages(&service, "t", "r2", &messages).await?;
    let end = answered.last().expect("a last event");
    assert_eq!((&end["type"], &end["outcome"]), (&json!("RUN_FINISHED"), &json!({"type": "success"})));
    assert_eq!(outputs(&model), [json!("red"), json!("blue")]);
    // Sent again, the request ends in the same way, and the model is not asked again.
    assert_eq!(post_messages(&service, "t", "r2", &messages).await?.last(), Some(end));
    assert_eq!(model.calls().len(), 2);
    // A new message is one, whatever the messages before it contain.
    let mut messages = messages.as_array().cloned().unwrap_or_default();
    messages.extend([json!({"id": "a", "role": "assistant", "content": "Done."}), user("Once more.")]);
    let ids = pending(&post_messages(&service, "t", "r3", &json!(messages)).await?);
    assert_eq!((ids.len(), model.calls().len()), (2, 3));
    Ok(())
}

#[tokio::test]
async fn results_come_one_by_one_in_both_modes() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let of_tasks = asks_twice();
    one_by_one(&database.replica(&of_tasks).await?, &of_tasks).await?;
    let of_workflows = asks_twice();
    let (env, service) = workflows(&of_workflows).await?;
    one_by_one(&service, &of_workflows).await?;
    env.finish().await?;
    Ok(())
}

/// Answers the first call, then the second, each behind the message of its call.
async fn one_by_one(service: &Router, model: &FakeModel) -> anyhow::Result<()> {
    let ids = pending(&post_messages(service, "t", "r1", &json!([user("Ask.")])).await?);
    let [one, two] = &ids[..] else { anyhow::bail!("two calls wait: {ids:?}") };
    let first = json!([user("Ask."), calling(one), result(one, "red"), calling(two)]);
    assert_eq!(pending(&post_messages(service, "t", "r2", &first).await?), [&**two]);
    assert_eq!(pending(&post_messages(service, "t", "r2", &first).await?), [&**two]);
    let foreign = json!([user("Ask."), calling(one), result("foreign", "red"), result(one, "red")]);
    assert_eq!(pending(&post_messages(service, "t", "r3", &foreign).await?), [&**two]);
    let only_foreign = json!([user("Ask."), calling(one), calling(two), result("foreign", "red")]);
    assert_eq!(post(service, "/agui/clerk", &request("t", "r4", &only_foreign)).await?.0, 409);
    let both = json!([user("Ask."), calling(one), result(one, "red"), calling(two), result(two, "blue")]);
    let last = post_messages(service, "t", "r5", &both).await?;
    assert_eq!(last.last().expect("a last event")["outcome"], json!({"type": "success"}));
    assert_eq!(outputs(model), [json!("red"), json!("blue")]);
    Ok(())
}

#[tokio::test]
async fn a_run_that_fails_closes_all_that_is_open() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let broken = failure(ModelFailureKind::BadRequest, "the model is broken");
    let model = FakeModel::script([text("Let me see.").and(tool_call("price", json!({"article": "tea"}))), broken]);
    let events = post_messages(&database.replica(&model).await?, "t", "r1", &json!([user("Ask.")])).await?;
    let ids = |kind: &str, id: &str| -> Vec<Value> {
        events.iter().filter(|event| event["type"] == kind).map(|event| event[id].clone()).collect()
    };
    assert_eq!(events.last().expect("a last event")["type"], "RUN_ERROR");
    assert_eq!(ids("TOOL_CALL_START", "toolCallId").len(), 1);
    assert_eq!(ids("TOOL_CALL_START", "toolCallId"), ids("TOOL_CALL_END", "toolCallId"));
    assert_eq!(ids("TEXT_MESSAGE_START", "messageId"), ids("TEXT_MESSAGE_END", "messageId"));
    Ok(())
}

/// The request of the AI SDK with the message of the user, and these parts of the agent's.
fn chat(parts: &Value) -> Value {
    let user = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Ask."}]});
    let answer = json!({"id": "m1-answer", "role": "assistant", "parts": parts});
    let messages = if parts.is_null() { json!([user]) } else { json!([user, answer]) };
    json!({"id": "c", "messages": messages, "trigger": "submit-message"})
}

fn part(call_id: &str, output: &str) -> Value {
    json!({
        "type": "dynamic-tool", "toolName": "ask_page", "toolCallId": call_id, "state": "output-available",
        "input": {}, "output": output,
    })
}

#[tokio::test]
async fn outputs_of_a_page_count_once() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let model = asks_twice();
    let service = database.replica(&model).await?;
    let chunks = stream(&service, "POST", "/chat/clerk", Some(&chat(&Value::Null))).await?;
    let available = chunks.iter().filter(|chunk| chunk["type"] == "tool-input-available");
    let ids: Vec<&str> = available.filter_map(|chunk| chunk["toolCallId"].as_str()).collect();
    let [one, two] = ids[..] else { anyhow::bail!("two calls wait: {ids:?}") };
    let others = (0..300).map(|number| part(&format!("foreign-{number}"), "green"));
    let own = [json!({"type": "step-start"}), part(one, "red"), part(two, "pink"), part(two, "blue")];
    let body = chat(&others.chain(own).collect());
    let answered = stream(&service, "POST", "/chat/clerk", Some(&body)).await?;
    assert_eq!(outputs(&model), [json!("red"), json!("blue")]);
    assert_eq!(stream(&service, "POST", "/chat/clerk", Some(&body)).await?, answered);
    assert_eq!(model.calls().len(), 2);
    Ok(())
}
