//! The messages as files of the protocol, as other implementations write them, and as nobody does.

use std::{fmt::Debug, fs, path::Path};

use proptest::prelude::*;
use rstest::rstest;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use temporal_agents_core::{
    tool::{Issue, schema::parse_arguments},
    wire::{Bounds, ServerData},
};

use super::{
    CallMessage, FieldIssue, RemoteError, ToolCallMessage, ToolCallMeta, ToolOutputDeltaMessage, ToolResultMessage,
    TraceContext, result_stream, toolset_stream,
};

/// Compares a message with a file of one line, in both directions and byte for byte.
#[track_caller]
fn is_the_file<T: Serialize + DeserializeOwned + PartialEq + Debug>(name: &str, message: &T) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/toolregistry").join(name);
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(serde_json::to_string(message).expect("JSON") + "\n", file);
    assert_eq!(&serde_json::from_str::<T>(&file).expect("a message"), message);
}

fn issue(field: &str, constraint: &str) -> FieldIssue {
    FieldIssue { field: field.to_owned(), constraint: constraint.to_owned(), ..FieldIssue::default() }
}

#[test]
fn a_call_is_the_json_of_the_protocol() {
    let meta = ToolCallMeta {
        run_id: "run-1".to_owned(),
        session_id: "session-1".to_owned(),
        turn_id: "3".to_owned(),
        tool_call_id: "u-1".to_owned(),
        parent_tool_call_id: "u-0".to_owned(),
    };
    let payload = json!({"path": "a.txt", "lines": null});
    let trace = TraceContext {
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
        tracestate: "vendor=1".to_owned(),
        baggage: "tenant=acme".to_owned(),
    };
    let ToolCallMessage::Call(call) = ToolCallMessage::call("u-1", "files.read", payload, Some(meta)) else {
        panic!("it is a call");
    };
    assert_eq!(call.trace_context(), TraceContext::default());
    let call = call.with_trace_context(trace.clone());
    assert_eq!(call.trace_context(), trace);
    is_the_file("call.json", &ToolCallMessage::Call(Box::new(call)));
    let meta = ToolCallMeta { run_id: "run-1".to_owned(), ..ToolCallMeta::default() };
    is_the_file("call_minimal.json", &ToolCallMessage::call("u-1", "files.read", Value::Null, Some(meta)));
    let ToolCallMessage::Call(call) = ToolCallMessage::call("u-1", "files.read", Value::Null, None) else {
        panic!("it is a call");
    };
    let call = CallMessage { expires_at: Some(1_700_000_000_000), ..*call };
    is_the_file("call_expires.json", &ToolCallMessage::Call(Box::new(call)));
    is_the_file("ping.json", &ToolCallMessage::ping("p-1"));
}

#[test]
fn a_result_is_the_json_of_the_protocol() {
    let bounds = Bounds {
        returned: 1,
        total: Some(12),
        truncated: true,
        next_cursor: Some("c2".to_owned()),
        refinement_hint: "name fewer files".to_owned(),
    };
    let data = [
        ServerData::new("card", "timeline", json!({"title": "a.txt"})),
        ServerData::new("rows", "evidence", json!([1, 2])),
        ServerData::new("query", "internal", Value::Null),
    ];
    let result = ToolResultMessage::new("u-1", json!({"lines": ["one"]})).with_server_data(data);
    is_the_file("result.json", &ToolResultMessage { bounds: Some(bounds), ..result });
    let nothing = ToolResultMessage { bounds: Some(Bounds::default()), ..ToolResultMessage::new("u-1", Value::Null) };
    is_the_file("result_null.json", &nothing);
}

#[test]
fn an_error_has_the_constraints_of_the_protocol() {
    is_the_file("result_error.json", &ToolResultMessage::error("u-1", "execution_failed", "the disk is full"));
    let issues = [
        issue("path", "missing_field"),
        FieldIssue { allowed: vec!["celsius".to_owned(), "kelvin".to_owned()], ..issue("unit", "invalid_enum_value") },
        FieldIssue { format: "date-time".to_owned(), ..issue("when", "invalid_format") },
        FieldIssue { pattern: "^[a-z]+$".to_owned(), ..issue("id", "invalid_pattern") },
        issue("page", "invalid_range"),
        FieldIssue { min_len: Some(5), max_len: Some(5), ..issue("zip", "invalid_length") },
        FieldIssue { max_len: Some(0), ..issue("name", "invalid_length") },
        FieldIssue {
            expected_json_type: "integer".to_owned(),
            actual_json_type: "string".to_owned(),
            ..issue("count", "invalid_field_type")
        },
        issue("colour", "unknown_field"),
    ];
    let error = ToolResultMessage::error("u-1", "invalid_arguments", "the arguments do not fit");
    is_the_file("result_issues.json", &error.with_issues(issues));
}

#[test]
fn an_output_delta_is_the_json_of_the_protocol() {
    let delta = "half <done> & \"counting\"\n";
    is_the_file("output_delta.json", &ToolOutputDeltaMessage::new("u-1", "stdout", delta));
}

#[test]
fn streams_are_named_after_the_toolset_and_the_call() {
    assert_eq!(toolset_stream("files"), "toolset:files:requests");
    assert_eq!(result_stream("u-1"), "result:u-1");
}

#[test]
fn an_empty_trace_changes_nothing() {
    let own = TraceContext { traceparent: "00-1".to_owned(), ..TraceContext::default() };
    assert_eq!(own.clone().extract(TraceContext::default()), own);
    let came = TraceContext { traceparent: "00-2".to_owned(), ..TraceContext::default() };
    assert_eq!(own.clone().extract(came.clone()), came);
    let baggage = TraceContext { baggage: "tenant=acme".to_owned(), ..TraceContext::default() };
    assert_eq!(own.clone().extract(baggage.clone()), TraceContext { traceparent: own.traceparent, ..baggage });
}

/// Other implementations write nulls, escapes and members of later versions.
#[test]
fn nulls_and_unknown_members_are_read() {
    let call: ToolCallMessage = serde_json::from_value(json!({
        "type": "call", "tool_use_id": "u-1", "tool": "files.read", "payload": [1], "meta": null, "traceparent": null,
        "tracestate": null, "registration_token": "00ff", "execution_deadline_unix_ms": 1,
    }))
    .expect("a call");
    assert_eq!(call, ToolCallMessage::call("u-1", "files.read", json!([1]), None));
    let result: ToolResultMessage = serde_json::from_value(json!({
        "tool_use_id": "u-1", "bounds": {"Returned": null}, "server_data": [null, {"kind": "card"}],
        "error": {"code": "timeout", "issues": null, "message": null},
    }))
    .expect("a result");
    let error = RemoteError { code: "timeout".to_owned(), message: String::new(), issues: Vec::new() };
    assert_eq!(
        result,
        ToolResultMessage {
            tool_use_id: "u-1".to_owned(),
            bounds: Some(Bounds::default()),
            server_data: vec![ServerData::new("card", "", Value::Null)],
            error: Some(error),
            ..ToolResultMessage::default()
        }
    );
    let issue: FieldIssue =
        serde_json::from_value(json!({"Field": "zip", "Constraint": "invalid_length", "Allowed": null, "MaxLen": 5}))
            .expect("an issue");
    assert_eq!(
        json!(issue),
        json!({"field": "zip", "constraint": "invalid_length", "max_len": 5}),
        "names as earlier releases wrote them"
    );
    let escaped: ToolOutputDeltaMessage =
        serde_json::from_str(r#"{"tool_use_id":"u-1","stream":"log","delta":"\u003cb\u003e"}"#).expect("a delta");
    assert_eq!(escaped.delta, "<b>");
}

#[test]
fn a_payload_that_is_absent_is_not_null() {
    let read = |json: Value| match serde_json::from_value(json).expect("a call") {
        ToolCallMessage::Call(call) => *call,
        ToolCallMessage::Ping { .. } => panic!("it is a call"),
    };
    assert_eq!(
        read(json!({"type": "call", "tool_use_id": "u-1"})),
        CallMessage { tool_use_id: "u-1".to_owned(), ..CallMessage::default() }
    );
    assert_eq!(read(json!({"type": "call", "tool_use_id": "u-1", "payload": null})).payload, Some(Value::Null));
}

#[rstest]
#[case::no_type(json!({"tool_use_id": "u-1"}))]
#[case::another_type(json!({"type": "drain", "tool_use_id": "u-1"}))]
#[case::a_call_without_an_id(json!({"type": "call", "tool": "files.read"}))]
#[case::a_ping_without_an_id(json!({"type": "ping"}))]
#[case::a_number_as_the_tool(json!({"type": "call", "tool_use_id": "u-1", "tool": 7}))]
#[case::a_list(json!([]))]
fn what_is_no_message_is_refused(#[case] json: Value) {
    serde_json::from_value::<ToolCallMessage>(json).expect_err("it is none");
}

/// Violations of a schema have the names of the protocol on the wire, and those of JSON Schema at
/// both ends.
#[rstest]
#[case(json!({"required": ["a"]}), json!({}), json!({"field": "a", "constraint": "missing_field"}), "required")]
#[case(
    json!({"properties": {"a": {"enum": ["x", 1]}}}), json!({"a": 2}),
    json!({"field": "a", "constraint": "invalid_enum_value", "allowed": ["x", "1"]}), "enum"
)]
#[case(
    json!({"properties": {"a": {"format": "date"}}}), json!({"a": "now"}),
    json!({"field": "a", "constraint": "invalid_format", "format": "date"}), "format"
)]
#[case(
    json!({"properties": {"a": {"pattern": "^x"}}}), json!({"a": "now"}),
    json!({"field": "a", "constraint": "invalid_pattern", "pattern": "^x"}), "pattern"
)]
#[case(
    json!({"properties": {"a": {"minimum": 3}}}), json!({"a": 2}),
    json!({"field": "a", "constraint": "invalid_range", "allowed": [">= 3"]}), "invalid_range"
)]
#[case(
    json!({"properties": {"a": {"exclusiveMaximum": 2}}}), json!({"a": 2}),
    json!({"field": "a", "constraint": "invalid_range", "allowed": ["< 2"]}), "invalid_range"
)]
#[case(
    json!({"properties": {"a": {"minLength": 3}}}), json!({"a": "ab"}),
    json!({"field": "a", "constraint": "invalid_length", "min_len": 3}), "minLength"
)]
#[case(
    json!({"properties": {"a": {"maxItems": 0}}}), json!({"a": [1]}),
    json!({"field": "a", "constraint": "invalid_length", "max_len": 0}), "maxLength"
)]
#[case(
    json!({"properties": {"a": {"type": "integer"}}}), json!({"a": "2"}),
    json!({
        "field": "a", "constraint": "invalid_field_type", "expected_json_type": "integer",
        "actual_json_type": "string",
    }), "type"
)]
#[case(
    json!({"properties": {"a": {}}, "additionalProperties": false}), json!({"b": 2}),
    json!({"field": "b", "constraint": "unknown_field", "allowed": ["a"]}), "additionalProperties"
)]
fn a_violation_of_a_schema_has_a_constraint_of_the_protocol(
    #[case] schema: Value,
    #[case] arguments: Value,
    #[case] expected: Value,
    #[case] keyword: &str,
) {
    let invalid = parse_arguments("files.read", &arguments.to_string(), &schema).expect_err("it does not fit");
    let found: Vec<FieldIssue> = invalid.issues.iter().map(FieldIssue::from).collect();
    assert_eq!(json!(found), json!([expected]));
    let [found] = <[FieldIssue; 1]>::try_from(found).expect("one issue");
    let back = Issue::from(found);
    assert_eq!((back.field.as_str(), back.constraint.as_str()), (invalid.issues[0].field.as_str(), keyword));
    assert_eq!(back.actual_type, invalid.issues[0].actual_type);
}

/// What a provider writes reaches a model, and is as long as the provider likes.
#[test]
fn an_issue_of_a_provider_is_truncated() {
    let long = "x".repeat(1_000_000);
    let found = FieldIssue { allowed: vec![long.clone(); 100], ..issue(&long, &long) };
    assert!(json!(Issue::from(found)).to_string().len() < 3_000);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let name = prop_oneof![
            Just("type".to_owned()),
            Just("tool_use_id".to_owned()),
            Just("payload".to_owned()),
            Just("error".to_owned()),
            Just("issues".to_owned()),
            Just("bounds".to_owned()),
            Just("meta".to_owned()),
            "[a-z]{0,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    /// Whatever is on a stream is a message or an error, and a message is written as it is read.
    #[test]
    fn any_json_is_a_message_or_refused(json in json_value(), call in any::<bool>(), id in ".{0,8}") {
        let mut json = json;
        if let Some(members) = json.as_object_mut() {
            members.insert("tool_use_id".to_owned(), json!(id));
            members.insert("type".to_owned(), json!(if call { "call" } else { "ping" }));
        }
        written_as_read::<ToolCallMessage>(&json);
        written_as_read::<ToolResultMessage>(&json);
        written_as_read::<ToolOutputDeltaMessage>(&json);
        written_as_read::<FieldIssue>(&json);
    }

    #[test]
    fn any_bytes_are_a_message_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = serde_json::from_slice::<ToolCallMessage>(&bytes);
        let _ = serde_json::from_slice::<ToolResultMessage>(&bytes);
        let _ = serde_json::from_slice::<ToolOutputDeltaMessage>(&bytes);
    }
}

fn written_as_read<T: Serialize + DeserializeOwned + PartialEq + Debug>(json: &Value) {
    if let Ok(message) = T::deserialize(json) {
        let written = serde_json::to_value(&message).expect("JSON");
        assert_eq!(T::deserialize(&written).expect("what is written is read"), message);
    }
}

#[cfg(feature = "otel")]
#[test]
fn a_call_has_the_trace_in_which_it_is_made() {
    use opentelemetry::{Context, propagation::TextMapPropagator};
    use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

    #[expect(clippy::disallowed_types, reason = "the propagators of opentelemetry read this type")]
    type Fields = std::collections::HashMap<String, String>;

    assert_eq!(crate::trace::propagation::current(), TraceContext::default());
    let fields = [
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("tracestate", "vendor=a1"),
        ("baggage", "user=ada"),
    ];
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Fields>();
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &fields);
    let _guard = BaggagePropagator::new().extract_with_context(&context, &fields).attach();
    let current = crate::trace::propagation::current();
    let expected = |name: &str| fields[name].clone();
    assert_eq!(current.traceparent, expected("traceparent"));
    assert_eq!((current.tracestate, current.baggage), (expected("tracestate"), expected("baggage")));
}
