use serde_json::{Value, json};

use super::*;

fn items(values: &[Value]) -> Vec<Item> {
    values.iter().map(|value| Item::try_from(value.clone()).unwrap()).collect()
}

#[test]
fn a_call_stays_where_it_first_stood_and_its_output_moves_to_the_last_place() {
    let call = |arguments: &str| json!({"type": "function_call", "call_id": "c1", "name": "f", "arguments": arguments});
    let output = |text: &str| json!({"type": "function_call_output", "call_id": "c1", "output": text});
    let given =
        items(&[call("old"), output("old"), json!({"role": "user", "content": "hi"}), call("new"), output("new")]);
    let kept = items(&[call("new"), json!({"role": "user", "content": "hi"}), output("new")]);
    assert_eq!(once(given), kept);
}

#[test]
fn reasoning_is_known_by_its_id_and_stays_in_front_of_what_follows() {
    let reasoning = |text: &str| json!({"type": "reasoning", "id": "rs_1", "summary": [text]});
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": "{}"});
    assert_eq!(once(items(&[reasoning("a"), call.clone(), reasoning("b")])), items(&[reasoning("b"), call]));
}

#[test]
fn messages_placeholder_ids_and_items_without_an_id_all_stay() {
    let all = items(&[
        json!({"type": "message", "id": "m1", "role": "assistant", "content": "a"}),
        json!({"type": "message", "id": "m1", "role": "assistant", "content": "a"}),
        json!({"type": "reasoning", "id": "__fake_id__"}),
        json!({"type": "reasoning", "id": "__fake_id__"}),
        json!({"type": "hologram"}),
        json!({"type": "hologram"}),
    ]);
    assert_eq!(once(all.clone()), all);
}

#[test]
fn a_conversation_that_goes_on_is_told_apart_as_one_that_is_looked_at_whole() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let all =
        items(&[json!({"role": "user", "content": "hi"}), call("c1"), call("c2"), call("c1"), call("c3"), call("c3")]);
    let other = items(&[call("c3"), call("c4")]);
    let calls = [&all[..1], &all[..3], &all[..4], &all[..5], &other[..], &all[..3], &all[..2], &all[..]];
    let mut goes_on = Once::default();
    for given in calls {
        assert_eq!(goes_on.once(given.to_vec()), once(given.to_vec()));
    }
}
