use serde_json::json;
use temporal_agents_core::wire::Item;

use super::*;

fn conversation(details: Value) -> Vec<Value> {
    let checkpoint = read(details).unwrap();
    let items = checkpoint.runs[0].conversation.clone().unwrap_or_default();
    items.iter().map(|item: &Item| serde_json::to_value(item).unwrap()).collect()
}

fn as_neutral_items() -> Vec<Value> {
    vec![
        json!({"role": "user", "content": "Review it."}),
        json!({"role": "assistant", "content": "I look."}),
        json!({"type": "function_call", "call_id": "t1", "name": "read", "arguments": "{\"path\":\"a.rs\"}"}),
        json!({"type": "function_call_output", "call_id": "t1", "output": "fn main() {}"}),
    ]
}

#[test]
fn a_checkpoint_with_anthropics_blocks_is_read() {
    let details = json!({"version": 1, "results": [], "messages": [
        {"role": "user", "content": "Review it."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "..", "signature": ".."},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a.rs"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "fn main() {}"},
        ]},
    ]});
    assert_eq!(conversation(details), as_neutral_items());
}

#[test]
fn a_checkpoint_with_chat_completions_messages_is_read() {
    let call =
        json!({"id": "t1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a.rs\"}"}});
    let details = json!({"version": 1, "results": [], "messages": [
        {"role": "user", "content": "Review it."},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "fn main() {}"},
    ]});
    assert_eq!(conversation(details), as_neutral_items());
}

#[test]
fn a_checkpoint_in_a_json_string_is_read() {
    let text = r#"{"version": 1, "messages": [{"role": "user", "content": "Hi"}], "results": [{"line": 7}]}"#;
    let checkpoint = read(Value::String(text.to_owned())).unwrap();
    assert_eq!((checkpoint.results, checkpoint.origins), (vec![json!({"line": 7})], vec![Some(0)]));
}

#[test]
fn results_may_be_called_issues_and_the_version_may_be_missing() {
    let checkpoint = read(json!({"messages": [], "issues": ["a", "b"]})).unwrap();
    assert_eq!(checkpoint.results, ["a", "b"]);
    assert_eq!(checkpoint.runs[0].conversation, None);
}

#[test]
fn what_is_no_checkpoint_says_why() {
    let why = |details| read(details).unwrap_err();
    assert_eq!(why(json!("garbage")), "its text is not JSON: expected value at line 1 column 1");
    assert_eq!(why(json!(7)), "it is not a JSON object");
    assert_eq!(why(json!({"version": 2, "messages": []})), "it has version 2, and this build reads version 1");
    assert_eq!(why(json!({"version": 1})), "it has no list of \"messages\"");
    assert_eq!(
        why(json!({"messages": [{"role": "user", "content": [{"type": "hologram"}]}]})),
        "message 0: a block has the unknown type \"hologram\""
    );
}

#[test]
fn our_own_of_another_major_version_is_refused() {
    let why = read(json!({"format": SESSION_FORMAT, "version": "9.0", "runs": []})).unwrap_err();
    assert!(why.contains("9.0"), "{why}");
}

/// A checkpoint whose second run is in this phase.
fn with_phase(phase: &Value) -> Value {
    let usage = json!({"requests": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0});
    let state = json!({
        "version": "1.1", "agent": "desk", "input": [], "items": [], "turn": 1, "usage": usage, "phase": phase
    });
    json!({"format": SESSION_FORMAT, "version": "1.1", "runs": [{"agent": "desk"}, {"agent": "desk", "state": state}]})
}

#[test]
fn a_checkpoint_of_a_run_in_the_middle_of_a_turn_is_refused() {
    for phase in [
        json!({"kind": "turn_due"}),
        json!({"kind": "interrupted", "round": {"calls": []}}),
        json!({"kind": "finished", "output": "done"}),
    ] {
        assert!(read(with_phase(&phase)).is_ok(), "{phase}");
    }
    let tools_due = json!({"kind": "tools_due", "round": {"calls": []}});
    let why = "its run 1 is in phase \"tools_due\", in which no checkpoint is made";
    assert_eq!(read(with_phase(&tools_due)), Err(why.to_owned()));
    for phase in [
        json!({"kind": "resume_due", "round": {"calls": []}}),
        json!({"kind": "output_due", "text": "{}"}),
        json!({"kind": "failed", "reason": "no"}),
    ] {
        assert!(read(with_phase(&phase)).is_err(), "{phase}");
    }
}
