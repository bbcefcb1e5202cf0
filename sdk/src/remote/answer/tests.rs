use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::{ToolOutput, remote_call::RemoteTarget};

use super::of_result;
use crate::remote::message::ToolResultMessage;

fn target(members: Value) -> RemoteTarget {
    let mut target = json!({"toolset": "files", "tool": "list", "timeout_seconds": 60});
    let members = members.as_object().expect("an object").clone();
    target.as_object_mut().expect("an object").extend(members);
    serde_json::from_value(target).expect("a target")
}

/// Returns the output, or the message for the model.
fn told(members: Value, message: Value) -> Result<String, String> {
    let mut message = message;
    message["tool_use_id"] = json!("c1");
    let message: ToolResultMessage = serde_json::from_value(message).expect("a message");
    match of_result(&target(members), message) {
        Ok((ToolOutput::Text(text), _)) => Ok(text),
        Ok(output) => panic!("{output:?}"),
        Err(error) => {
            let (failure, _) = error.into_parts();
            assert!(failure.tell_model.is_some(), "the message is for the model");
            Err(failure.issues_message())
        }
    }
}

#[rstest]
#[case::string(json!("two files"), "two files")]
#[case::object(json!({"a": [1, 2]}), r#"{"a":[1,2]}"#)]
#[case::null(Value::Null, "null")]
fn a_string_is_told_as_it_is_and_other_values_as_json(#[case] result: Value, #[case] output: &str) {
    assert_eq!(told(json!({}), json!({"result_json": result})), Ok(output.to_owned()));
}

#[test]
fn a_result_without_a_value_is_null() {
    assert_eq!(told(json!({}), json!({})), Ok("null".to_owned()));
}

#[test]
fn an_error_is_told_with_its_code_and_its_issues() {
    let issues = json!([{"field": "path", "constraint": "missing_field"}]);
    assert_eq!(
        told(json!({}), json!({"error": {"code": "invalid_arguments", "message": "no path", "issues": issues}})),
        Err(r#"no path (invalid_arguments). What does not fit: [{"field":"path","constraint":"required","allowed":null}]"#
            .to_owned())
    );
    assert_eq!(told(json!({}), json!({"error": {"code": "busy"}})), Err("the call failed (busy)".to_owned()));
    assert_eq!(told(json!({}), json!({"error": {}})), Err("the call failed".to_owned()));
    assert_eq!(told(json!({}), json!({"error": {"message": " \n"}})), Err("the call failed".to_owned()));
}

#[test]
fn an_unknown_outcome_is_told_in_the_words_of_every_tool() {
    let error = json!({"error": {"code": "outcome_unknown", "message": "the disk may be erased"}});
    assert_eq!(told(json!({}), error), Err(temporal_agents_core::tool::OUTCOME_UNKNOWN.to_owned()));
}

#[test]
fn at_most_a_hundred_issues_are_told() {
    let issues: Vec<Value> = (0..500).map(|n| json!({"field": n.to_string(), "constraint": "missing_field"})).collect();
    let told = told(json!({}), json!({"error": {"message": "no", "issues": issues}})).unwrap_err();
    assert_eq!(told.matches("required").count(), 100);
}

#[test]
fn a_result_that_does_not_fit_its_schema_is_an_error() {
    let target = json!({"result_schema": {"type": "object", "required": ["files"]}});
    assert_eq!(told(target.clone(), json!({"result_json": {"files": []}})), Ok(r#"{"files":[]}"#.to_owned()));
    let told = told(target, json!({"result_json": {"secret": "s3"}})).unwrap_err();
    assert!(told.starts_with("Tool 'list' has run, and its result does not fit its own schema"), "{told}");
    assert!(!told.contains("s3"), "{told}");
}

#[rstest]
#[case::none(json!({"result_json": {"files": []}}), Err("Tool 'list' has run, but its result does not state its bounds."))]
#[case::cut(
    json!({"result_json": {"files": []}, "bounds": {"Returned": 1, "Truncated": true}}),
    Err("Tool 'list' has run, but its result is truncated, without a cursor or a hint.")
)]
#[case::whole(
    json!({"result_json": {"files": ["a"]}, "bounds": {"Returned": 1, "Total": 1, "Truncated": false}}),
    Ok(r#"{"files":["a"],"returned":1,"total":1,"truncated":false}"#)
)]
#[case::page(
    json!({"result_json": ["a"], "bounds": {"Returned": 1, "Truncated": true, "NextCursor": "c2", "RefinementHint": "less"}}),
    Ok(r#"{"result":["a"],"returned":1,"truncated":true,"refinement_hint":"less","next_cursor":"c2"}"#)
)]
fn the_bounds_of_a_bounded_tool_are_told(#[case] message: Value, #[case] output: Result<&str, &str>) {
    assert_eq!(told(json!({"bounded": true}), message), output.map(str::to_owned).map_err(str::to_owned));
}

#[test]
fn server_data_is_not_told() {
    let data = json!([{"kind": "trace", "audience": "internal", "data": "s3"}]);
    assert_eq!(told(json!({}), json!({"result_json": "ok", "server_data": data})), Ok("ok".to_owned()));
}
