use serde_json::json;
use temporal_agents::wire::Definitions;

use super::*;

fn call(turn: u32) -> ModelCall {
    let mut call = ModelCall::new("triage", "gpt-5", Definitions::default(), Vec::new());
    call.turn = turn;
    call
}

#[tokio::test]
async fn a_script_answers_in_order_and_gives_ids() {
    let model = FakeModel::script([tool_call("add", json!({"a": 1})), text("done")]);
    let first = model.call(call(1)).await.unwrap();
    assert_eq!(
        serde_json::to_value(&first.output).unwrap(),
        json!([{"type": "function_call", "name": "add", "arguments": "{\"a\":1}", "id": "fc_0_0", "call_id": "call_0_0"}])
    );
    model.call(call(2)).await.unwrap();
    model.verify();
}

#[tokio::test]
async fn a_missing_reply_fails_the_call_and_the_test() {
    let model = FakeModel::script([]);
    let error = model.call(call(3)).await.unwrap_err();
    let message = "call 1 (agent \"triage\", turn 3): exceeds the script, which has 0 replies";
    assert_eq!(error.to_string(), message);
    assert!(!error.should_retry());
    assert_eq!(model.complaints(), [message]);
}

#[test]
fn an_unused_reply_fails_the_test() {
    let model = FakeModel::script([text("never")]);
    let complaints = model.complaints();
    assert!(complaints[0].starts_with("reply 1 of the script was not used"), "{complaints:?}");
}

#[tokio::test]
async fn an_expectation_fails_the_call_that_breaks_it() {
    let model = FakeModel::script([text("hi").expecting(|call| match call.definitions.tools.len() {
        2 => Ok(()),
        n => Err(format!("expected 2 tools, found {n}")),
    })]);
    let error = model.call(call(1)).await.unwrap_err();
    assert_eq!(error.to_string(), "call 1 (agent \"triage\", turn 1): expected 2 tools, found 0");
}
