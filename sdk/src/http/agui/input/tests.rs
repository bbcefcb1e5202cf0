use rstest::rstest;
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

fn user(text: &str) -> Value {
    json!({"id": "u", "role": "user", "content": text})
}

fn said(text: &str) -> Value {
    json!({"id": "a", "role": "assistant", "content": text})
}

fn call(id: &str) -> Value {
    let function = json!({"name": "pick", "arguments": "{}"});
    json!({"id": id, "role": "assistant", "toolCalls": [{"id": id, "type": "function", "function": function}]})
}

fn result(call_id: &str, text: &str) -> Value {
    json!({"id": "r", "role": "tool", "toolCallId": call_id, "content": text})
}

#[test]
fn an_empty_call_id_names_no_call() {
    let nameless = [json!({"role": "tool", "content": "x"}), json!({"role": "tool", "toolCallId": "", "content": "x"})];
    for nameless in nameless {
        let request = input(json!([user("hi"), call("c1"), nameless]));
        assert_eq!(request.find_results(&["c1", ""]), []);
        assert!(!request.may_contain_results());
        assert!(!request.ends_with_result());
    }
}

#[rstest]
#[case::behind_their_calls(json!([user("hi"), call("c1"), result("c1", "red"), call("c2")]), true)]
#[case::before_their_calls(json!([result("c1", "red"), user("hi"), call("c1")]), true)]
#[case::before_a_new_message(json!([user("hi"), call("c1"), result("c1", "red"), user("and?")]), true)]
#[case::of_an_earlier_run(json!([user("hi"), call("c1"), result("c1", "red"), said("red"), user("and?")]), false)]
#[case::no_result(json!([user("hi"), call("c1")]), false)]
fn results_of_an_earlier_run_are_not_looked_up(#[case] messages: Value, #[case] may_contain: bool) {
    assert_eq!(input(messages).may_contain_results(), may_contain);
}

#[rstest]
#[case::behind_all_calls(json!([user("hi"), call("c1"), call("c2"), result("c1", "red"), result("c2", "blue")]), &["c1", "c2"])]
#[case::behind_their_calls(json!([user("hi"), call("c1"), result("c1", "red"), call("c2"), result("c2", "blue")]), &["c2"])]
#[case::before_their_calls(json!([user("hi"), result("c2", "blue"), result("c1", "red"), call("c1"), call("c2")]), &["c1", "c2"])]
#[case::of_the_first_call(json!([user("hi"), call("c1"), result("c1", "red"), call("c2")]), &["c1"])]
#[case::before_a_new_message(json!([user("hi"), call("c1"), result("c1", "red"), user("and?")]), &["c1"])]
#[case::before_a_text(json!([user("hi"), call("c1"), result("c1", "red"), said("red")]), &[])]
#[case::before_the_message_of_a_call(json!([user("hi"), call("c1"), result("c1", "red"), user("and?"), call("c3")]), &[])]
fn a_repeated_request_has_the_latest_results(#[case] messages: Value, #[case] answered: &[&str]) {
    let results = input(messages).results_sent_again(&["c1", "c2"]);
    assert_eq!(results.iter().map(|(id, _)| *id).collect::<Vec<_>>(), answered);
}

#[test]
fn a_resumed_request_repeats_results_after_all_calls_only() {
    let request = |messages| RunAgentInput { resume: vec![answer("resolved", json!({}))], ..input(messages) };
    let earlier = request(json!([user("hi"), call("c1"), result("c1", "red"), call("pay")]));
    assert_eq!(earlier.results_sent_again(&["c1"]), []);
    let latest = request(json!([user("hi"), call("c1"), call("pay"), result("c1", "red")]));
    assert_eq!(latest.results_sent_again(&["c1"]), [("c1", "red".to_owned())]);
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
