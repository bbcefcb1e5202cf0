use rstest::rstest;
use serde_json::{Value, json};

use super::{ApprovalResponse, ChatPost, Trigger};

fn post(messages: Value) -> ChatPost {
    serde_json::from_value(json!({"id": "chat-1", "messages": messages, "trigger": "submit-message"})).unwrap()
}

fn assistant(parts: Value) -> ChatPost {
    post(json!([
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"id": "a1", "role": "assistant", "parts": parts},
    ]))
}

#[test]
fn the_last_user_message_is_its_text_parts() {
    let post = post(json!([
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "old"}]},
        {"id": "u2", "role": "user", "metadata": {"a": 1}, "parts": [
            {"type": "text", "text": "one"}, {"type": "file", "url": "x"}, 7, {"type": "text", "text": "two"},
        ]},
    ]));
    assert_eq!(post.last_user_message(), Some(("u2".to_owned(), "one\ntwo".to_owned())));
    assert_eq!(post.continues_assistant(), None);
}

#[test]
fn decisions_are_read_from_the_last_message_of_an_agent() {
    let post = assistant(json!([
        {"type": "step-start"},
        {"type": "dynamic-tool", "toolName": "pay", "toolCallId": "c1", "state": "approval-responded",
         "approval": {"id": "c1#2", "approved": true, "reason": "ok"}},
        {"type": "tool-pay", "toolCallId": "c2", "state": "approval-responded",
         "approval": {"id": "c2", "approved": false}},
        {"type": "tool-pay", "toolCallId": "c3", "state": "approval-responded", "approval": {"id": "c3"}},
        {"type": "tool-pay", "toolCallId": "c4", "state": "approval-requested", "approval": {"id": "c4"}},
        {"type": "tool-pay", "state": "approval-responded", "approval": {"id": "c5", "approved": true}},
        null,
    ]));
    let response = |approval_id: &str, tool_call_id: &str, approved, reason: Option<&str>| ApprovalResponse {
        approval_id: approval_id.to_owned(),
        tool_call_id: tool_call_id.to_owned(),
        approved,
        reason: reason.map(str::to_owned),
    };
    assert_eq!(post.decisions(), [response("c1#2", "c1", true, Some("ok")), response("c2", "c2", false, None)]);
    assert_eq!(post.continues_assistant(), Some("a1".to_owned()));
    assert_eq!(post.call_ids(), ["c1", "c2", "c3", "c4"]);
}

fn available(call_id: &str, output: Value) -> Value {
    json!({"type": "dynamic-tool", "toolCallId": call_id, "state": "output-available", "output": output})
}

#[test]
fn outputs_are_read_with_errors_as_outputs() {
    let post = assistant(json!([
        available("c1", json!({"lat": 59})),
        {"type": "tool-where", "toolCallId": "c2", "state": "output-error", "errorText": "no signal"},
        {"type": "tool-where", "toolCallId": "c3", "state": "input-available", "input": {}},
    ]));
    let outputs = [("c1", json!({"lat": 59})), ("c2", json!({"error": "no signal"}))];
    assert_eq!(post.find_outputs(&["c1", "c2", "c3"]), outputs);
    assert!(post.has_outputs());
}

#[test]
fn outputs_are_found_behind_many_others() {
    let others = (0..1_000).map(|number| available(&format!("other-{number}"), json!("theirs")));
    let post = assistant(others.chain([available("c1", json!("ours"))]).collect());
    assert_eq!(post.find_outputs(&["c1"]), [("c1", json!("ours"))]);
}

#[test]
fn the_last_part_of_a_call_counts() {
    let twice = [available("c1", json!("old")), available("c1", json!("new"))];
    assert_eq!(assistant(json!(twice)).find_outputs(&["c1"]), [("c1", json!("new"))]);
    let waiting = json!({"type": "dynamic-tool", "toolCallId": "c1", "state": "input-available", "input": {}});
    assert_eq!(assistant(json!([available("c1", json!("old")), waiting])).find_outputs(&["c1#2"]), []);
}

#[rstest]
#[case::number("c1#2", "c1")]
#[case::slash("functions~1where", "functions/where")]
#[case::nested("o/c1#2", "o/c1")]
fn ids_of_parts_name_their_questions(#[case] question: &str, #[case] shown: &str) {
    let post = assistant(json!([available("foreign", json!(0)), available(shown, json!(1))]));
    assert_eq!(post.find_outputs(&[question]), [(question, json!(1))]);
}

#[test]
fn a_repeated_request_has_the_outputs_of_its_last_step() {
    let step = || json!({"type": "step-start"});
    let (first, second) = (available("c1", json!("red")), available("c2", json!("blue")));
    let both = assistant(json!([step(), first, step(), second, {"type": "text", "text": "so"}]));
    assert_eq!(both.outputs_sent_again(&["c1", "c2"]), [("c2", json!("blue"))]);
    assert_eq!(assistant(json!([first])).outputs_sent_again(&["c1"]), [("c1", json!("red"))]);
    assert_eq!(assistant(json!([step(), first, step()])).outputs_sent_again(&["c1"]), []);
}

#[test]
fn unknown_triggers_and_roles_are_accepted() {
    let body = json!({"id": "chat-1", "messages": [{"id": "x", "role": "critic"}], "trigger": "later", "body": 1});
    let post: ChatPost = serde_json::from_value(body).unwrap();
    assert_eq!(post.trigger, Trigger::Other);
    assert_eq!((post.last_user_message(), post.decisions(), post.has_outputs()), (None, vec![], false));
}

#[test]
fn a_long_reason_is_truncated_at_a_character() {
    let approval = json!({"id": "c1", "approved": false, "reason": format!("a{}", "ü".repeat(1024))});
    let post = assistant(json!([
        {"type": "dynamic-tool", "toolCallId": "c1", "state": "approval-responded", "approval": approval},
    ]));
    let reason = post.decisions().remove(0).reason.unwrap();
    assert_eq!((reason.len(), reason.chars().last()), (1023, Some('ü')));
}
