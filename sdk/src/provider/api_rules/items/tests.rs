use serde_json::{Value, json};
use temporal_agents_core::wire::Item;

use super::{
    super::{
        RequestTarget,
        families::family,
        rules::{ANTHROPIC, ApiRules, CHAT_COMPLETIONS, GEMINI, RESPONSES},
    },
    rewrite,
};

fn rewritten(rules: &ApiRules, model: &str, items: Value) -> Value {
    let target = RequestTarget { model, provider: "openai", is_default_provider: true, keeps_empty_reasoning: false };
    let items: Vec<Item> = serde_json::from_value(items).expect("items are objects");
    let rewritten = rewrite(rules, &family(model), &target, items, true, true);
    serde_json::to_value(rewritten).expect("items are JSON")
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look", "arguments": arguments})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "done"})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": []})
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

#[test]
fn a_whole_conversation_stays_as_it_is() {
    let said = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]});
    let items = json!([user("hi"), reasoning("rs_1"), said, call("c1", "{}"), output("c1")]);
    assert_eq!(rewritten(&RESPONSES, "gpt-5-mini", items.clone()), items);
}

#[test]
fn a_cut_conversation_loses_ids_and_lone_items() {
    let mut without_id = call("c1", "{}");
    without_id.as_object_mut().expect("an object").shift_remove("id");
    let items =
        json!([output("c0"), call("c1", "{}"), output("c1"), reasoning("rs_2"), user("and?"), call("c3", "{}")]);
    assert_eq!(rewritten(&RESPONSES, "gpt-5-mini", items), json!([without_id, output("c1"), user("and?")]));
}

#[test]
fn reasoning_is_not_sent_to_models_without_it() {
    let items = json!([user("hi"), reasoning("rs_1"), call("c1", "{}"), output("c1")]);
    let found = rewritten(&RESPONSES, "gpt-4.1", items);
    assert_eq!(found[1]["type"], "function_call");
    assert_eq!(found[1].get("id"), None);
}

#[test]
fn the_second_of_two_calls_loses_its_id_with_the_first() {
    let items = json!([user("hi"), reasoning("rs_1"), call("c1", "{}"), call("c2", "{}"), output("c2")]);
    let found = rewritten(&RESPONSES, "gpt-5-mini", items);
    assert_eq!(found.as_array().map(Vec::len), Some(3));
    assert_eq!((&found[1]["call_id"], found[1].get("id")), (&json!("c2"), None));
}

#[test]
fn an_id_that_repeats_is_another_call_each_time() {
    let items =
        json!([user("hi"), call("look:0", "{}"), output("look:0"), call("look:0", "{\"a\": 1}"), output("look:0")]);
    let found = rewritten(&ANTHROPIC, "claude-sonnet-4-6", items);
    let ids: Vec<&str> = found.as_array().expect("items").iter().filter_map(|item| item["call_id"].as_str()).collect();
    assert_eq!((ids[0], ids[2]), (ids[1], ids[3]));
    assert_ne!(ids[0], ids[2]);
    assert!(ids.iter().all(|id| !id.contains(':')), "{ids:?}");
}

#[test]
fn outputs_follow_their_calls_in_the_order_of_the_calls() {
    let items = json!([user("hi"), call("c1", "{}"), call("c2", "{}"), user("and?"), output("c2"), output("c1")]);
    let found = rewritten(&CHAT_COMPLETIONS, "m", items);
    let expected = json!([user("hi"), call("c1", "{}"), call("c2", "{}"), output("c1"), output("c2"), user("and?")]);
    assert_eq!(found, expected);
}

#[test]
fn arguments_that_are_no_object_become_one() {
    let arguments = |given: &str| {
        let found = rewritten(&RESPONSES, "m", json!([user("hi"), call("c1", given), output("c1")]));
        found[1]["arguments"].clone()
    };
    assert_eq!([arguments(""), arguments("null"), arguments("{ }")], [json!("{}"), json!("{}"), json!("{ }")]);
    assert_eq!(arguments("{\"cmd\": \"timeout 7"), json!("{\"INVALID_JSON\":\"{\\\"cmd\\\": \\\"timeout 7\"}"));
}

#[test]
fn an_image_of_a_tool_follows_in_a_message() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="});
    let mut output = output("c1");
    output["output"] = json!([{"type": "input_text", "text": "the screen"}, image]);
    let items = json!([user("look"), call("c1", "{}"), output]);
    let found = rewritten(&CHAT_COMPLETIONS, "m", items.clone());
    let told = json!([{"type": "input_text", "text": "the screen"},
        {"type": "input_text", "text": "[an image: attachment 1 of the next message]"}]);
    assert_eq!(found[2]["output"], told);
    assert_eq!(found[3]["content"][1], image);
    assert_eq!(rewritten(&ANTHROPIC, "claude-sonnet-4-6", items.clone())[2], items[2]);
    // Google fetches no addresses.
    let mut items = items;
    items[2]["output"][1]["image_url"] = json!("https://example.com/a.png");
    let found = rewritten(&GEMINI, "gemini-2.5-pro", items);
    assert_eq!(
        found[2]["output"][1]["text"],
        "[an image at https://example.com/a.png that cannot be shown to this model]"
    );
    assert_eq!(found.as_array().map(Vec::len), Some(3));
}

#[test]
fn a_conversation_of_the_model_alone_gets_messages_of_the_user() {
    let said = json!({"type": "message", "role": "assistant", "content": "hi"});
    let found = rewritten(&ANTHROPIC, "claude-sonnet-4-6", json!([said]));
    assert_eq!(found[0]["role"], "user");
    assert_eq!(found[2], json!({"role": "user", "content": "Continue."}));
}
