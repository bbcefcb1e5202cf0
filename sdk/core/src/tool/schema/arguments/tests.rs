use rstest::rstest;
use serde_json::{Map, Value, json};

use super::{super::Issue, InvalidArgumentsKind, parse_arguments};

fn city() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "units": {"type": "string"}},
        "required": ["city"],
    })
}

#[test]
fn arguments_that_fit_are_returned_in_their_order() {
    let members = parse_arguments("weather", r#"{"units":"c","city":"Oslo"}"#, &city()).unwrap();
    assert_eq!(Value::Object(members).to_string(), r#"{"units":"c","city":"Oslo"}"#);
}

#[rstest]
#[case("")]
#[case("{}")]
#[case(" \n")]
#[case("null")]
fn nothing_counts_as_no_arguments(#[case] arguments: &str) {
    assert_eq!(parse_arguments("ping", arguments, &json!({"type": "object"})), Ok(Map::new()));
}

#[rstest]
#[case::not_json("Oslo", InvalidArgumentsKind::NotJson, "Invalid JSON input for tool weather")]
#[case::blank(" \n", InvalidArgumentsKind::Violation, "Invalid JSON input for tool weather")]
#[case::cut_off(r#"{"city":"#, InvalidArgumentsKind::NotJson, "Invalid JSON input for tool weather")]
#[case::array("[]", InvalidArgumentsKind::NotAnObject, "Invalid JSON input for tool weather: expected a JSON object")]
#[case::null("null", InvalidArgumentsKind::Violation, "Invalid JSON input for tool weather")]
#[case::missing("", InvalidArgumentsKind::Violation, "Invalid JSON input for tool weather")]
#[case::wrong_type(r#"{"city":5}"#, InvalidArgumentsKind::Violation, "Invalid JSON input for tool weather")]
fn arguments_that_do_not_fit_are_an_error(
    #[case] arguments: &str,
    #[case] kind: InvalidArgumentsKind,
    #[case] message: &str,
) {
    let error = parse_arguments("weather", arguments, &city()).unwrap_err();
    assert_eq!((error.kind, error.to_string().as_str()), (kind, message));
    assert_eq!(error.issues.is_empty(), kind == InvalidArgumentsKind::NotJson);
}

#[test]
fn a_violation_lists_its_issues() {
    let error = parse_arguments("weather", r#"{"units":1}"#, &city()).unwrap_err();
    let issues: Vec<String> = error.issues.iter().map(Issue::to_string).collect();
    assert_eq!(issues, [r#"city: missing, allowed: "string""#, r#"units: fails type, allowed: "string""#,]);
}

#[test]
fn arguments_have_integers_where_the_schema_asks() {
    let schema = json!({"properties": {"grams": {"type": "integer"}, "euros": {"type": "number"}}});
    let members = parse_arguments("post", r#"{"grams":3.0,"euros":3.0,"other":3.0}"#, &schema).unwrap();
    assert_eq!(Value::Object(members).to_string(), r#"{"grams":3,"euros":3.0,"other":3.0}"#);
}
