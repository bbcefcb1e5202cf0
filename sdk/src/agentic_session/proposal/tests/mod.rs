//! Checkpoints of the proposal that this crate writes: the golden files in
//! `tests/golden/proposal/`, what is left out, and what is read from them again.

mod round_trip;

use std::{env, fs, path::Path};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents_core::wire::Item;

use super::{read, write};
use crate::agentic_session::format::{
    CheckpointFormat,
    MessageDialect::{self, Anthropic, ChatCompletions},
};

fn items(values: impl IntoIterator<Item = Value>) -> Vec<Item> {
    values.into_iter().map(|value| Item::try_from(value).unwrap()).collect()
}

/// Writes a checkpoint as a JSON object, and returns it with the kinds that it leaves out.
fn written(conversation: &[Item], dialect: MessageDialect) -> (Value, Vec<String>) {
    let form = CheckpointFormat::ProposalObject(dialect).proposal().unwrap();
    let written = write(conversation, &[], form);
    (written.details, written.omitted.into_iter().collect())
}

fn messages(conversation: &[Item], dialect: MessageDialect) -> Value {
    written(conversation, dialect).0["messages"].take()
}

/// Reads the conversation of a checkpoint.
fn conversation(details: Value) -> Vec<Item> {
    read(details).unwrap().runs.remove(0).conversation.unwrap_or_default()
}

/// A conversation with each kind of item and part.
fn everything() -> Vec<Item> {
    let output_text = |text: &str| json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
    items([
        json!({"role": "developer", "content": "Be brief."}),
        json!({"role": "user", "content": [
            {"type": "input_text", "text": "Review a.rs and this picture."},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk=", "detail": "low"},
            {"type": "input_image", "image_url": "https://example.com/b.png"},
            {"type": "input_file", "file_id": "file_1"},
        ]}),
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}),
        json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [output_text("I read it.")]
        }),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        json!({
            "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "status": "completed",
            "arguments": "{\"path\":\"a.rs\",\"lines\":[1,2.5,null]}"
        }),
        json!({"type": "function_call", "call_id": "call_2", "name": "look", "arguments": ""}),
        json!({"type": "function_call", "call_id": "call_3", "name": "read", "arguments": "a.rs"}),
        json!({"type": "function_call_output", "call_id": "call_1", "output": "fn main() {}"}),
        json!({"type": "function_call_output", "call_id": "call_2", "output": [
            {"type": "input_text", "text": "A chart."},
            {"type": "input_image", "image_url": "data:image/png;base64,aGk="},
        ]}),
        json!({
            "type": "function_call_output", "call_id": "call_3", "output": "The arguments are invalid.",
            "is_error": true
        }),
        json!({"type": "message", "role": "assistant", "content": [
            output_text("It is fine."), {"type": "refusal", "refusal": "I cannot judge the picture."}
        ]}),
        json!({"role": "user", "content": "And b.rs?"}),
    ])
}

#[rstest]
#[case::anthropic("anthropic", CheckpointFormat::ProposalObject(Anthropic))]
#[case::anthropic_in_a_string("anthropic_string", CheckpointFormat::ProposalString(Anthropic))]
#[case::chat_completions("chat_completions", CheckpointFormat::ProposalObject(ChatCompletions))]
#[case::chat_completions_in_a_string("chat_completions_string", CheckpointFormat::ProposalString(ChatCompletions))]
fn checkpoints_are_those_of_every_release(#[case] name: &str, #[case] format: CheckpointFormat) {
    let results = [json!({"file": "a.rs", "line": 3}), json!("b.rs")];
    let details = write(&everything(), &results, format.proposal().unwrap()).details;
    let json = serde_json::to_string_pretty(&details).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/golden/proposal/{name}.json"));
    if !path.exists() && env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &json).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), json, "never edit a golden file: other languages read this form");
    assert_eq!(read(details).unwrap().results, results);
}

#[test]
fn kinds_without_a_form_are_named() {
    let (_, omitted) = written(&everything(), Anthropic);
    assert_eq!(omitted, ["input_file"]);
    let (_, omitted) = written(&everything(), ChatCompletions);
    assert_eq!(omitted, ["image in the output of a tool", "input_file"]);
    let others = items([
        json!({"type": "computer_call", "call_id": "c1"}),
        json!({"role": "assistant", "content": [{"type": "input_image", "image_url": "https://example.com"}]}),
        json!({"role": "user", "content": [7, {"type": "input_image", "file_id": "file_1"}]}),
        json!({"type": "function_call", "call_id": "c2", "name": "read", "arguments": "{}"}),
        json!({"odd": true}),
    ]);
    let (checkpoint, omitted) = written(&others, Anthropic);
    assert_eq!(checkpoint["messages"], json!([]));
    let expected = [
        "computer_call",
        "function_call without an output",
        "image in an assistant's message",
        "input_image",
        "item without a type",
        "part without a type",
    ];
    assert_eq!(omitted, expected);
}

#[test]
fn a_call_is_directly_before_its_output() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"});
    let output = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "x"});
    let user = json!({"role": "user", "content": "Wait."});
    // A message between call and outputs, an output without a call, a call without an output.
    let odd = items([call("a"), call("b"), user.clone(), output("b"), output("z"), output("a"), call("c")]);
    let tool_use = |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let expected = json!([
        {"role": "assistant", "content": [tool_use("a"), tool_use("b")]},
        {"role": "user", "content": [result("a"), result("b")]},
        user,
    ]);
    assert_eq!(messages(&odd, Anthropic), expected);
}

#[test]
fn responses_with_outputs_between_them_are_messages_of_their_own() {
    let text = |text: &str| json!({"role": "assistant", "content": text});
    let call = json!({"type": "function_call", "call_id": "a", "name": "read", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": ""});
    let conversation = items([text("One."), text("Two."), call, output, text("Three."), text("  ")]);
    let used = json!({"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let expected = json!([
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
            "tool_calls": [used]
        },
        {"role": "tool", "tool_call_id": "a", "content": ""},
        {"role": "assistant", "content": "Three."},
    ]);
    assert_eq!(messages(&conversation, ChatCompletions), expected);
}
