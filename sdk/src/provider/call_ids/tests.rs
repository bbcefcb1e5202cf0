use std::sync::mpsc;

use serde_json::json;
use temporal_agents_core::wire::{Definitions, Usage};

use super::*;

fn conversation(ids: &[&str]) -> ModelCall {
    let input = ids.iter().map(|id| Item::function_call(*id, "list_dir", "{}")).collect();
    ModelCall::new("clerk", "m", Definitions::default(), input)
}

fn calls(calls: &[(&str, &str)]) -> ModelResponse {
    let items = calls.iter().map(|(id, arguments)| Item::function_call(*id, "list_dir", *arguments));
    ModelResponse::new(items.collect(), Usage::default())
}

fn rename_ids(earlier: &[&str], answer: &[(&str, &str)]) -> Vec<String> {
    let response = CallIds::in_conversation(&conversation(earlier)).rename(calls(answer));
    response.output.iter().filter_map(Item::call_id).map(str::to_owned).collect()
}

#[test]
fn repeated_id_gets_the_next_number() {
    assert_eq!(rename_ids(&[], &[("list_dir:0", "{}")]), ["list_dir:0"]);
    assert_eq!(rename_ids(&["list_dir:0"], &[("list_dir:0", "{}")]), ["list_dir:0-2"]);
    assert_eq!(rename_ids(&["list_dir:0", "list_dir:0-2"], &[("list_dir:0", "{}")]), ["list_dir:0-3"]);
    assert_eq!(rename_ids(&["call", "call-7"], &[("call", "{}")]), ["call-8"], "earlier ones may be left out");
    assert_eq!(rename_ids(&["call", "call-4294967295", "call-x"], &[("call", "{}")]), ["call-4294967296"]);
}

#[test]
fn equal_ids_of_different_calls_become_distinct() {
    let answer = [("c", "{\"a\":1}"), ("c", "{\"a\":2}"), ("c-2", "{}"), ("c", "{\"a\":3}")];
    assert_eq!(rename_ids(&[], &answer), ["c", "c-2", "c-2-2", "c-3"]);
}

#[test]
fn call_repeated_word_for_word_keeps_its_id() {
    let answer = [("c", "{\"a\":1,\"b\":2}"), ("c", "{\"b\":2, \"a\":1}")];
    assert_eq!(rename_ids(&[], &answer), ["c", "c"]);
    assert_eq!(rename_ids(&["c"], &answer), ["c-2", "c-2"]);
}

#[test]
fn output_beside_its_call_has_the_same_id() {
    let mut answer = calls(&[("c", "{}")]);
    answer.output.push(Item::function_call_output("c", json!("files")));
    let response = CallIds::in_conversation(&conversation(&["c"])).rename(answer);
    let ids: Vec<_> = response.output.iter().map(Item::call_id).collect();
    assert_eq!(ids, [Some("c-2"), Some("c-2")]);
}

#[test]
fn missing_id_is_the_position() {
    assert_eq!(rename_ids(&[], &[("", "{}"), ("", "{}")]), ["call_0", "call_1"]);
    assert_eq!(rename_ids(&["call_0"], &[("", "{}")]), ["call_0-2"]);
}

#[test]
fn conversation_at_the_provider_keeps_its_ids() {
    let mut call = conversation(&["c"]);
    call.previous_response_id = Some("resp_1".to_owned());
    let response = CallIds::in_conversation(&call).rename(calls(&[("c", "{}")]));
    assert_eq!(response.output[0].call_id(), Some("c"));
}

#[test]
fn deltas_have_the_ids_of_the_answer() {
    let (sender, received) = mpsc::channel();
    let ids = CallIds::in_conversation(&conversation(&["c"]));
    let deltas = ids.rename_deltas(ModelDeltas::new(move |delta| drop(sender.send(delta))));
    let part = |index: u32, id: &str, delta: &str| ModelDelta::ToolArguments {
        index,
        call_id: Some(id.to_owned()),
        name: None,
        delta: delta.to_owned(),
    };
    let text = ModelDelta::Text { index: 0, delta: "hm".to_owned() };
    for delta in [text.clone(), part(1, "c", "{"), part(2, "d", "{"), part(1, "c", "}"), part(3, "c", "{}")] {
        deltas.send(delta);
    }
    drop(deltas);
    let expected = [text, part(1, "c-2", "{"), part(2, "d", "{"), part(1, "c-2", "}"), part(3, "c-3", "{}")];
    assert_eq!(received.iter().collect::<Vec<_>>(), expected);
    let answer = calls(&[("c", "{}"), ("d", "{}"), ("c", "{\"a\":1}")]);
    let ids: Vec<_> = ids.rename(answer).output.iter().map(|item| json!(item.call_id())).collect();
    assert_eq!(ids, ["c-2", "d", "c-3"]);
}
