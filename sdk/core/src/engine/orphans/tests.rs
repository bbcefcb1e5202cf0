use serde_json::json;

use super::without_orphan_calls;
use crate::wire::Item;

fn items(values: serde_json::Value) -> Vec<Item> {
    serde_json::from_value(values).unwrap()
}

#[test]
fn a_call_without_output_goes_with_the_reasoning_before_it() {
    let given = items(json!([
        {"type": "reasoning", "id": "rs_1"},
        {"type": "function_call", "call_id": "c1", "name": "a", "arguments": "{}"},
        {"type": "reasoning", "id": "rs_2"},
        {"type": "function_call", "call_id": "c2", "name": "a", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "x"},
        {"type": "web_search_call", "id": "ws_1"},
    ]));
    assert_eq!(without_orphan_calls(given.clone()), given[2..]);
}

#[test]
fn outputs_without_call_stay() {
    let given = items(json!([{"type": "function_call_output", "call_id": "c9", "output": "x"}]));
    assert_eq!(without_orphan_calls(given.clone()), given);
}
