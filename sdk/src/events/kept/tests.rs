use serde_json::{Value, json};
use temporal_agents_core::wire::{
    EventKind, Item, NewItem, NewItemKind, RunEvent, RunState, SessionCheckpoint, WIRE_VERSION,
};

use super::{restored, shortened, whole};
use crate::events::Facts;

const RUN: &str = "desk-1/activity-4-0";

fn item(value: Value) -> Item {
    serde_json::from_value(value).expect("an item")
}

fn state(input: &[Value], items: &[Value]) -> RunState {
    let mut state = RunState::finished("desk", Vec::new());
    state.input = input.iter().cloned().map(item).collect();
    let made = |raw: &Value| NewItem::new(NewItemKind::MessageOutput, "desk", item(raw.clone()));
    state.items = items.iter().map(made).collect();
    state
}

fn event(local: &str, kind: EventKind) -> RunEvent {
    let mut event = RunEvent::new(kind);
    (event.id, event.run) = (format!("{RUN}{local}"), RUN.to_owned());
    (event.agent, event.turn, event.time) = ("desk".to_owned(), 1, "2026-11-23T12:00:00Z".to_owned());
    event
}

fn call() -> Value {
    json!({"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a\"}", "extra": 1})
}

fn output() -> Value {
    json!({"type": "function_call_output", "call_id": "c1", "output": "the text"})
}

fn message() -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Read."}]})
}

fn facts() -> Vec<RunEvent> {
    let tool_call = EventKind::ToolCall {
        call_id: "c1".to_owned(),
        name: "read".to_owned(),
        arguments: "{\"path\":\"a\"}".to_owned(),
        item: item(call()),
    };
    let tool_output = EventKind::ToolOutput {
        call_id: "c1".to_owned(),
        name: "read".to_owned(),
        output: json!("the text"),
        attempts: 2,
        earlier_failure: None,
        side_data: None,
        is_failure: false,
    };
    vec![
        event("/started", EventKind::RunStarted { input: vec![item(json!({"role": "user", "content": "Read a."}))] }),
        event("/1-model/0", tool_call),
        event("/1-tool-0/output", tool_output),
        event("/2-model/0", EventKind::Message { text: "Read.".to_owned(), item: item(message()) }),
        event("/2-model/1", EventKind::Reasoning { item: item(json!({"type": "reasoning", "id": "r"})) }),
    ]
}

#[test]
fn content_that_the_state_holds_is_kept_once() {
    let earlier = json!({"role": "system", "content": "Be brief."});
    let asked = json!({"role": "user", "content": "Read a."});
    let state = state(&[earlier, asked], &[call(), output(), message()]);
    let kept: Vec<Value> = facts().iter().map(|fact| Value::Object(shortened(fact, RUN, Some(&state)))).collect();
    let at = |local: &str, kind: &str, rest: Value| {
        let mut fact = json!({"id": local, "agent": "desk", "turn": 1, "time": "2026-11-23T12:00:00Z", "kind": kind});
        fact.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        fact
    };
    let expected = [
        at("/started", "run_started", json!({"input_from": 1})),
        at("/1-model/0", "tool_call", json!({"item_at": 0})),
        at("/1-tool-0/output", "tool_output", json!({"item_at": 1, "name": "read", "attempts": 2})),
        at("/2-model/0", "message", json!({"item_at": 2})),
        // The state does not hold it.
        at("/2-model/1", "reasoning", json!({"item": {"type": "reasoning", "id": "r"}})),
    ];
    assert_eq!(kept, expected);
    for (kept, fact) in kept.iter().zip(facts()) {
        let kept = kept.as_object().expect("an object");
        assert_eq!(whole(kept, RUN, WIRE_VERSION, Some(&state)), Some(fact));
    }
}

#[test]
fn a_fact_without_a_state_is_whole_and_one_that_does_not_fit_its_state_is_none() {
    for fact in facts() {
        assert_eq!(whole(&shortened(&fact, RUN, None), RUN, WIRE_VERSION, None), Some(fact));
    }
    let empty = state(&[], &[]);
    for forged in [
        json!({}),
        json!({"id": 7, "kind": "message"}),
        json!({"id": "/1", "time": "", "kind": "message", "item_at": 3}),
        json!({"id": "/1", "time": "", "kind": "message", "item_at": -1}),
        json!({"id": "/1", "time": "", "kind": "run_started", "input_from": 1}),
        json!({"id": "/1", "time": "", "kind": "run_started", "input_from": "x"}),
    ] {
        assert_eq!(whole(forged.as_object().expect("an object"), RUN, WIRE_VERSION, Some(&empty)), None, "{forged}");
    }
}

#[test]
fn the_facts_of_the_golden_checkpoint_are_restored() {
    let golden = include_str!("../../../../tests/golden/wire/v1.2/session_checkpoint-with_facts.json");
    let golden: SessionCheckpoint = serde_json::from_str(golden).expect("a checkpoint");
    let run = &golden.runs[0];
    let facts = run.facts.as_ref().expect("facts");
    assert!(Facts::continued_from(facts.observed.clone()).is_some(), "this build continues them");
    let kinds = restored(facts, golden.version, run.state.as_deref());
    let kinds: Vec<&str> = kinds.iter().map(|fact| fact.kind.name()).collect();
    assert_eq!(kinds, ["run_started", "message", "other_item"]);
}
