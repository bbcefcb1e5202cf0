//! Conversations that are written and read again: they are the same, and providers accept them.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{Anthropic, ChatCompletions, CheckpointFormat, Item, MessageDialect, conversation, items, messages, write};

const DIALECTS: [MessageDialect; 2] = [Anthropic, ChatCompletions];

/// Texts that are not blank.
fn text() -> impl Strategy<Value = String> {
    select(vec!["Hi.", "fn main() {}", "ä\n\"quoted\" \\ {}", " x ", "{\"a\":1}", "\u{1F980}"]).prop_map(str::to_owned)
}

fn image() -> impl Strategy<Value = Value> {
    select(vec!["data:image/png;base64,aGk=", "https://example.com/a.png"])
        .prop_map(|url| json!({"type": "input_image", "image_url": url}))
}

/// A message to the model.
fn input(dialect: MessageDialect) -> BoxedStrategy<Vec<Value>> {
    let roles = match dialect {
        Anthropic => vec!["user"],
        ChatCompletions => vec!["user", "system", "developer"],
    };
    let part = prop_oneof![text().prop_map(|text| json!({"type": "input_text", "text": text})), image()];
    let content = prop_oneof![
        text().prop_map(Value::String),
        vec(part, 2..4).prop_map(Value::Array),
        image().prop_map(|image| json!([image])),
    ];
    (select(roles), content).prop_map(|(role, content)| vec![json!({"role": role, "content": content})]).boxed()
}

/// The output of a call.
fn output(dialect: MessageDialect) -> BoxedStrategy<Map<String, Value>> {
    let output = |value: Value| Map::from_iter([("output".to_owned(), value)]);
    let plain = prop_oneof![text(), Just(String::new())].prop_map(move |text| output(text.into()));
    if dialect == ChatCompletions {
        return plain.boxed();
    }
    let failed = text().prop_map(|text| {
        Map::from_iter([("output".to_owned(), Value::String(text)), ("is_error".to_owned(), true.into())])
    });
    let with_image =
        (text(), image()).prop_map(move |(text, image)| output(json!([{"type": "input_text", "text": text}, image])));
    prop_oneof![3 => plain, 1 => failed, 1 => with_image].boxed()
}

/// A response of the model: texts, and calls with their outputs.
fn response(dialect: MessageDialect) -> impl Strategy<Value = Vec<Value>> {
    let arguments = select(vec!["{}", "{\"path\":\"a.rs\"}", "{\"b\":[1,2.5,null],\"a\":{\"c\":\"ä\"}}"]);
    let call = (select(vec!["read", "look"]), arguments, output(dialect));
    (vec(text(), 0..3), vec(call, 0..3)).prop_map(|(texts, calls)| {
        let mut items: Vec<Value> =
            texts.into_iter().map(|text| json!({"role": "assistant", "content": text})).collect();
        let calls = calls.into_iter().map(|(name, arguments, output)| {
            let call = json!({"type": "function_call", "call_id": "", "name": name, "arguments": arguments});
            let mut answer = json!({"type": "function_call_output", "call_id": ""});
            answer.as_object_mut().unwrap().extend(output);
            (call, answer)
        });
        let (calls, outputs): (Vec<_>, Vec<_>) = calls.unzip();
        items.extend(calls);
        items.extend(outputs);
        items
    })
}

/// A conversation as a run has it between two turns, in the form in which a checkpoint is read.
fn of_a_run(dialect: MessageDialect) -> impl Strategy<Value = Vec<Item>> {
    let turns = vec(prop_oneof![input(dialect), response(dialect).boxed()], 0..8);
    turns.prop_map(|turns| {
        let mut values: Vec<Value> = turns.into_iter().flatten().collect();
        // Each call has an id of its own; outputs follow in the order of their calls.
        for kind in ["function_call", "function_call_output"] {
            let of_kind = values.iter_mut().filter(|value| value["type"] == kind);
            for (number, value) in of_kind.enumerate() {
                value["call_id"] = format!("call_{number}").into();
            }
        }
        items(values)
    })
}

/// Any items, in any order, complete or not.
fn any_items() -> impl Strategy<Value = Vec<Item>> {
    let part = select(vec![
        json!({"type": "output_text", "text": "Hi."}),
        json!({"type": "input_text", "text": " "}),
        json!({"type": "input_image", "image_url": "https://example.com/a.png", "detail": "low"}),
        json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="}),
        json!({"type": "input_file", "file_id": "f"}),
        json!({"type": "refusal", "refusal": "No."}),
        json!({"type": "text"}),
        json!(null),
        json!(7),
    ]);
    let content = prop_oneof![
        vec(part, 0..4).prop_map(Value::Array),
        select(vec![json!("Hi."), json!(""), json!("\n"), json!(null), json!({"a": 1}), json!(7)]),
    ];
    let role = select(vec!["user", "assistant", "system", "developer", "tool", ""]);
    let id = select(vec!["a", "b", "c"]);
    let arguments = select(vec![json!("{}"), json!(""), json!("[1]"), json!("{"), json!({"a": 1}), json!(null)]);
    let item = prop_oneof![
        2 => (role, content.clone()).prop_map(|(role, content)| json!({"role": role, "content": content})),
        3 => (id.clone(), arguments).prop_map(|(id, arguments)| {
            json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments})
        }),
        3 => (id, content, any::<bool>()).prop_map(|(id, output, is_error)| {
            json!({"type": "function_call_output", "call_id": id, "output": output, "is_error": is_error})
        }),
        1 => select(vec![
            json!({"type": "reasoning"}),
            json!({"type": "mcp_call", "id": "m"}),
            json!({"type": "hologram"}),
            json!({"type": "function_call"}),
            json!({"type": "function_call_output"}),
            json!({}),
        ]),
    ];
    vec(item, 0..16).prop_map(items)
}

/// Checks that each call has its result directly after it, and that each result has a call.
fn check_calls(messages: &Value) -> Result<(), TestCaseError> {
    let mut due: Vec<String> = Vec::new();
    let id = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for message in messages.as_array().unwrap() {
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let mut results: Vec<String> = blocks
            .iter()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| id(&block["tool_use_id"]))
            .collect();
        if message["role"] == "tool" {
            results.push(id(&message["tool_call_id"]));
            // The results of Chat Completions are one message each, in the order of the calls.
            prop_assert_eq!(due.first(), results.first());
            due.remove(0);
        } else {
            prop_assert_eq!(&due, &results);
            due.clear();
        }
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use").map(|block| id(&block["id"]));
        due.extend(calls);
        due.extend(message["tool_calls"].as_array().into_iter().flatten().map(|call| id(&call["id"])));
        prop_assert!(due.is_empty() || message["role"] == "assistant" || message["role"] == "tool");
    }
    prop_assert!(due.is_empty());
    Ok(())
}

/// Checks that no two responses follow each other, and that no message is empty.
fn check_messages(messages: &Value) -> Result<(), TestCaseError> {
    let messages = messages.as_array().unwrap();
    for two in messages.windows(2) {
        prop_assert!(two.iter().any(|message| message["role"] != "assistant"));
    }
    for message in messages {
        let is_empty = message["content"].is_null() && message.get("tool_calls").is_none();
        prop_assert!(!is_empty && message["content"] != json!([]));
    }
    let roles: BTreeSet<_> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    prop_assert!(roles.iter().all(|role| ["user", "assistant", "system", "developer", "tool"].contains(role)));
    Ok(())
}

proptest! {
    #[test]
    fn a_conversation_of_a_run_is_read_as_it_was_written(
        (dialect, conversation_of_run) in
            select(DIALECTS.to_vec()).prop_flat_map(|dialect| (Just(dialect), of_a_run(dialect)))
    ) {
        for format in [CheckpointFormat::ProposalObject(dialect), CheckpointFormat::ProposalString(dialect)] {
            let written = write(&conversation_of_run, &[], format.proposal().unwrap());
            prop_assert!(written.omitted.is_empty());
            prop_assert_eq!(conversation(written.details), conversation_of_run.clone());
        }
        let messages = messages(&conversation_of_run, dialect);
        check_calls(&messages)?;
        check_messages(&messages)?;
    }

    #[test]
    fn any_items_become_messages_that_providers_accept(items in any_items()) {
        for dialect in DIALECTS {
            let written = messages(&items, dialect);
            check_calls(&written)?;
            check_messages(&written)?;
            // What is read is written again without a difference.
            let read = conversation(json!({"version": 1, "messages": written.clone(), "results": []}));
            prop_assert_eq!(messages(&read, dialect), written);
        }
    }
}
