use serde_json::{Value, json};

use super::{InputAnswer, ResumeDecision, ResumeEntry, RunAgentInput};

fn input(messages: Value) -> RunAgentInput {
    serde_json::from_value(json!({"threadId": "t", "runId": "r", "messages": messages})).expect("a request")
}

fn answer(status: &str, payload: Value) -> ResumeEntry {
    let entry = json!({"interruptId": "c1", "status": status, "payload": payload});
    serde_json::from_value(entry).expect("an answer")
}

#[test]
fn a_request_with_unknown_roles_parts_and_nulls_is_read() {
    let request = json!({
        "threadId": "t", "runId": "r", "parentRunId": null, "state": {}, "forwardedProps": null, "later": 1,
        "tools": [{"name": "pick", "description": "Picks.", "parameters": {"type": "object"}}],
        "context": [{"description": "page", "value": "home"}],
        "resume": null,
        "messages": [
            {"id": "1", "role": "critic", "content": "no"},
            {"id": "2", "role": "user", "content": [
                {"type": "text", "text": "see "}, {"type": "binary", "data": "x"}, {"type": "text", "text": "this"},
            ]},
            {"id": "3", "role": "assistant", "content": null, "toolCalls": null, "error": null, "later": 2},
        ],
    });
    let request: RunAgentInput = serde_json::from_value(request).expect("a request");
    assert_eq!(request.last_user_text().as_deref(), Some("see this"));
    assert_eq!(request.tools[0].name, "pick");
    let written = serde_json::to_value(&request.messages).expect("JSON");
    assert_eq!(written[0], json!({"id": "1", "role": "critic", "content": "no"}));
    assert_eq!(written[2], json!({"id": "3", "role": "assistant", "later": 2}));
}

#[test]
fn only_results_after_the_latest_assistant_message_are_new() {
    let request = input(json!([
        {"id": "1", "role": "tool", "toolCallId": "c0", "content": "old"},
        {"id": "2", "role": "assistant", "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "pick", "arguments": "{}"}},
        ]},
        {"id": "3", "role": "tool", "toolCallId": "c1", "content": "red"},
        {"id": "4", "role": "tool", "toolCallId": "c2", "content": [{"type": "text", "text": "blue"}]},
    ]));
    let results = request.tool_results_after_last_assistant();
    assert_eq!(results, [("c1".to_owned(), "red".to_owned()), ("c2".to_owned(), "blue".to_owned())]);
    assert_eq!(request.last_user_text(), None);
}

#[test]
fn a_payload_approves_or_rejects_a_call() {
    let reject = |message: Option<&str>| Ok(ResumeDecision::Reject { message: message.map(str::to_owned) });
    assert_eq!(answer("resolved", json!({"approved": true})).decision(), Ok(ResumeDecision::Approve));
    let edited = json!({"city": "Oslo"}).as_object().expect("an object").clone();
    assert_eq!(
        answer("resolved", json!({"approved": true, "editedArgs": edited})).decision(),
        Ok(ResumeDecision::ApproveWith { arguments: edited })
    );
    assert_eq!(answer("resolved", json!({"approved": false, "reason": "no"})).decision(), reject(Some("no")));
    assert_eq!(answer("resolved", json!({"approved": false, "message": "no"})).decision(), reject(Some("no")));
    assert_eq!(answer("resolved", json!({"approved": false})).decision(), reject(None));
    assert_eq!(answer("cancelled", Value::Null).decision(), reject(None));
}

#[test]
fn an_answer_that_is_no_decision_is_refused_with_what_to_send() {
    let refusal = |status, payload| answer(status, payload).decision().expect_err("a refusal");
    assert_eq!(
        refusal("resolved", json!({"approved": true, "editedArgs": "Oslo"})),
        "resume of interrupt \"c1\": editedArgs must be a JSON object, the arguments of the call"
    );
    for payload in [json!({"approved": false, "editedArgs": {"city": "Oslo"}}), json!({"editedArgs": {}})] {
        assert!(refusal("resolved", payload).contains("editedArgs are for a call that is approved"));
    }
    for payload in [json!("yes"), json!({"approved": "true"}), Value::Null] {
        assert_eq!(
            refusal("resolved", payload),
            "resume of interrupt \"c1\": the payload must be {\"approved\": true} or {\"approved\": false}"
        );
    }
    assert!(refusal("later", json!({"approved": true})).contains("\"resolved\" or \"cancelled\""));
}

#[test]
fn an_input_is_any_object_and_a_cancelled_one_is_declined() {
    let object = json!({"editedArgs": 1}).as_object().expect("an object").clone();
    assert_eq!(answer("resolved", json!({"editedArgs": 1})).input_answer(), Ok(InputAnswer::Answer(object)));
    assert_eq!(answer("cancelled", json!({})).input_answer(), Ok(InputAnswer::Declined));
    assert!(answer("resolved", json!("red")).input_answer().is_err());
}
