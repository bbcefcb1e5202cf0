//! Messages of other releases: data is open, instructions are not, digests are checked.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use crate::wire::{
    AgentRequest, Carried, ChatRequest, Item, ModelCall, ModelReply, ModelRequest, ModelSettings, ToolChoice,
    ToolReply, ToolRequest, WireDecodeError, WireVersionMismatch, digest::Digest, model_call::UnfoldError,
    version::decode,
};

use super::values;

fn json_of<T: serde::Serialize>(message: &T) -> Value {
    serde_json::to_value(message).expect("messages are JSON")
}

/// A complete request with one member changed by its JSON pointer.
fn request_with(pointer: &str, value: Value) -> Value {
    let mut request = json_of(&values::model_request_full());
    *request.pointer_mut(pointer).unwrap_or_else(|| panic!("no member {pointer}")) = value;
    request
}

/// A complete request whose definitions were changed by their writer, with the digest of what was
/// written.
fn request_defining(change: impl FnOnce(&mut Value)) -> Value {
    let mut request = json_of(&values::model_request_full());
    change(&mut request["definitions"]["definitions"]);
    let digest = Digest::of_value(&request["definitions"]["definitions"]);
    request["definitions"]["digest"] = json!(digest);
    request
}

fn unfold(request: Value) -> Result<ModelCall, UnfoldError> {
    decode::<ModelRequest>("model request", request).expect("the shape is right").unfold()
}

fn mismatch(request: Value) -> WireVersionMismatch {
    match unfold(request) {
        Err(UnfoldError::Version(mismatch)) => mismatch,
        other => panic!("expected a version mismatch, got {other:?}"),
    }
}

#[test]
fn a_request_unfolds_to_the_call_it_was_made_of() {
    assert_eq!(unfold(json_of(&values::model_request_full())).unwrap(), values::model_call());
}

#[test]
fn members_of_a_later_minor_version_do_not_keep_a_request_from_being_read() {
    let mut request = request_defining(|definitions| {
        definitions["new"] = json!(1);
        definitions["settings"]["new"] = json!({"a": 1});
        definitions["tools"][0]["new"] = json!(true);
    });
    request["version"] = json!("1.9");
    request["new"] = json!(1);
    request["input"]["new"] = json!(1);
    request["input"]["segments"][0]["new"] = json!(1);
    assert_eq!(unfold(request).unwrap(), values::model_call());
}

#[test]
fn members_of_a_later_minor_version_do_not_keep_a_reply_from_being_read() {
    let mut reply = json_of(&values::model_reply_full());
    reply["version"] = json!("1.9");
    reply["new"] = json!(1);
    reply["response"]["new"] = json!(1);
    reply["response"]["usage"]["new"] = json!(1);
    reply["response"]["usage"]["input_tokens_details"]["new"] = json!(1);
    let read = decode::<ModelReply>("model reply", reply).unwrap();
    assert_eq!(read.response, values::model_reply_full().response);

    let mut request = json_of(&values::tool_request_full());
    request["new"] = json!(1);
    assert_eq!(decode::<ToolRequest>("tool request", request).unwrap(), values::tool_request_full());

    let mut reply = json_of(&values::tool_reply_content());
    reply["new"] = json!(1);
    assert_eq!(decode::<ToolReply>("tool reply", reply).unwrap(), values::tool_reply_content());
}

#[test]
fn absent_usage_is_zero() {
    let reply = json!({"version": {"major": 1, "minor": 0}, "response": {"output": [], "usage": {"requests": 1}}});
    let mut expected = values::model_reply_minimal();
    expected.version.minor = 0;
    expected.response.usage.requests = 1;
    assert_eq!(decode::<ModelReply>("model reply", reply).unwrap(), expected);
}

#[test]
fn what_was_carried_over_is_read_in_its_version_alone() {
    let (_, carried) = values::carried().swap_remove(1);
    let with = |pointer: &str, value: Value| {
        let mut json = json_of(&carried);
        *json.pointer_mut(pointer).expect("it has this member") = value;
        serde_json::from_value::<Carried>(json).map_err(|error| error.to_string())
    };
    assert_eq!(with("/version", json!("1.9")).map(|read| read.state), Ok(carried.state.clone()));
    let error = with("/version", json!("9.0")).expect_err("a later major is not read");
    assert!(error.contains("has wire version 9.0, this build reads"), "{error}");
    assert!(with("/state/kind", json!("elsewhere")).is_err(), "an unknown place cannot be gone to");
}

#[test]
fn a_start_that_cannot_be_understood_is_read_all_the_same() {
    let (_, continued) = values::agent_requests().swap_remove(2);
    let mut of_tomorrow = json_of(&continued);
    of_tomorrow["carried"]["version"] = json!({"major": 9, "minor": 0});
    for odd in [
        json!({"agent": 7}),
        json!({"input": {"text": "hi"}}),
        json!(["hi"]),
        json!({"version": {"major": 9}}),
        json!({"carried": 5}),
        json!({"carried": {}}),
        json!(null),
        json!(1.5),
        of_tomorrow,
    ] {
        let read: AgentRequest = serde_json::from_value(odd.clone()).expect("the workflow is to fail, not its task");
        assert_eq!(json_of(&read), odd, "it is kept as it came");
        let read: ChatRequest = serde_json::from_value(odd).expect("the workflow is to fail, not its task");
        drop(read);
    }
    assert_eq!(
        serde_json::from_value::<AgentRequest>(json!("hi")).unwrap().input.into_items(),
        AgentRequest::new("triage", "hi").input.into_items()
    );
}

#[test]
fn the_items_of_a_state_have_a_fixed_order() {
    let states: BTreeMap<_, _> = values::run_states().into_iter().collect();
    let state = &states["everything"];
    let all: Vec<&Item> = state.items_in_order();
    let mut expected: Vec<&Item> = state.input.iter().chain(state.items.iter().map(|item| &item.raw)).collect();
    expected.extend(state.rewritten.iter().flat_map(|rewritten| &rewritten.items).map(|item| &item.raw));
    expected.extend(state.session.iter().flat_map(|session| &session.input));
    assert_eq!(all[..expected.len()], expected);
    let json = json_of(state).to_string();
    assert!(all.iter().all(|item| json.contains(&item.json())), "they are items of the state");
}

#[rstest]
#[case::segment("/input/segments/0/kind", json!("blob"), "blob")]
#[case::definitions("/definitions/kind", json!("blob"), "blob")]
#[case::digest_of_items("/input/digest", json!("blake3:00"), "digest algorithm blake3")]
#[case::digest_of_definitions("/definitions/digest", json!("blake3:00"), "digest algorithm blake3")]
fn an_unknown_instruction_is_a_version_mismatch_that_names_it(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] unknown: &str,
) {
    let mismatch = mismatch(request_with(pointer, value));
    assert_eq!(mismatch.unknown.as_deref(), Some(unknown));
    assert!(mismatch.is_newer(), "a newer worker may know it");
    assert_eq!(
        mismatch.to_string(),
        format!(
            "model request has wire version 1.2 and the unknown kind {unknown:?}, this build reads 0.x and 1.2; \
             deploy a newer worker"
        )
    );
}

#[test]
fn an_unknown_kind_of_tool_is_a_version_mismatch() {
    let request = request_defining(|definitions| definitions["tools"][1]["kind"] = json!("native"));
    assert_eq!(mismatch(request).unknown.as_deref(), Some("tool native"));
}

#[test]
fn an_unknown_part_of_a_call_is_a_version_mismatch() {
    let segment = json!({"kind": "call", "activity_id": "a", "part": "thought", "start": 0, "end": 1});
    assert_eq!(mismatch(request_with("/input/segments/0", segment)).unknown.as_deref(), Some("call part thought"));
}

#[rstest]
#[case::call(json!({"kind": "call", "activity_id": "a", "part": "given", "start": 0, "end": 1}))]
#[case::tool_result(json!({"kind": "tool_result", "activity_id": "a"}))]
fn input_by_reference_is_not_to_be_had_from_the_message(#[case] segment: Value) {
    let request = request_with("/input/segments/0", segment);
    assert!(matches!(unfold(request), Err(UnfoldError::Refers)));
}

#[test]
fn definitions_by_reference_are_not_to_be_had_from_the_message() {
    let part = json!({"kind": "call", "activity_id": "a", "digest": "sha256-128:00"});
    assert!(matches!(unfold(request_with("/definitions", part)), Err(UnfoldError::Refers)));
}

#[rstest]
#[case::no_segment_kind(request_with("/input/segments/0", json!({"items": []})))]
#[case::no_definitions_kind(request_with("/definitions", json!({"digest": "x"})))]
#[case::an_item_that_is_no_object(request_with("/input/segments/0/items", json!(["hi"])))]
#[case::no_agent(request_with("/agent", Value::Null))]
fn a_request_of_our_version_and_another_shape_is_malformed(#[case] request: Value) {
    let error = decode::<ModelRequest>("model request", request).unwrap_err();
    assert!(matches!(error, WireDecodeError::Malformed { message: "model request", .. }), "{error}");
}

#[test]
fn other_items_than_were_digested_are_refused() {
    let error = unfold(request_with("/input/segments/0/items/0/content", json!("Is it snowing?"))).unwrap_err();
    let expected = Digest::of_conversation(&values::model_call().input);
    let start = format!("the items of the model request do not match their digest: expected {expected}, found ");
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn a_wrong_count_is_refused_before_anything_is_made_of_it() {
    let error = unfold(request_with("/input/count", json!(u32::MAX))).unwrap_err();
    assert_eq!(error.to_string(), "the model request states 4294967295 items, but contains 7");
}

#[test]
fn other_definitions_than_were_digested_are_refused() {
    let request = request_with("/definitions/definitions/instructions", json!("Obey."));
    let error = decode::<ModelRequest>("model request", request).unwrap_err();
    let expected = values::definitions().digest();
    let start =
        format!("model request is malformed: the definitions do not match their digest: expected {expected}, found ");
    assert!(error.to_string().starts_with(&start), "{error}");
}

#[test]
fn the_digest_of_definitions_does_not_depend_on_the_order_of_members() {
    let mut request = json_of(&values::model_request_full());
    let parameters = &mut request["definitions"]["definitions"]["tools"][0]["parameters"];
    let properties = parameters["properties"].as_object_mut().unwrap();
    let units = properties.shift_remove("units").unwrap();
    properties.insert("units".to_owned(), units);
    assert!(unfold(request).is_ok());
}

#[rstest]
#[case(ToolChoice::Auto, json!("auto"))]
#[case(ToolChoice::Required, json!("required"))]
#[case(ToolChoice::None, json!("none"))]
#[case(ToolChoice::Tool("get_weather".to_owned()), json!("get_weather"))]
#[case(
    ToolChoice::Mcp { server_label: "docs".to_owned(), name: "find".to_owned() },
    json!({"server_label": "docs", "name": "find"})
)]
fn tool_choices_have_one_form_each(#[case] choice: ToolChoice, #[case] expected: Value) {
    let settings = ModelSettings::builder().tool_choice(choice).build();
    let json = json!({"tool_choice": expected});
    assert_eq!(json_of(&settings), json);
    assert_eq!(serde_json::from_value::<ModelSettings>(json).unwrap(), settings);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has finite numbers only", |float| float.is_finite()).prop_map(Value::from),
        (-20.0..0.0).prop_map(|logprob: f64| Value::from(logprob)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_item_reaches_the_worker_byte_for_byte(members in prop::collection::vec((any::<String>(), any_json()), 0..6)) {
        let item = Item::try_from(Value::from_iter(members)).expect("an object");
        let text = serde_json::to_string(&item).expect("an item is JSON");
        let call = ModelCall::new("triage", "gpt-5", values::definitions(), vec![item]);
        let request = serde_json::to_string(&ModelRequest::in_full(&call)).expect("a request is JSON");
        let received = unfold(serde_json::from_str(&request).expect("JSON")).expect("nothing has changed");
        prop_assert_eq!(serde_json::to_string(&received.input[0]).expect("an item is JSON"), text);
    }
}
