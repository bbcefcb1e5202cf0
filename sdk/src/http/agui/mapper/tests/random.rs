use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use temporal_agents_core::wire::{
    AgentInterruption, EventKind, GuardrailStage, Item, RecordedFailure, RunEvent, Usage,
};

use super::{Stream, verify};
use crate::http::agui::AguiMapper;

/// An event of a few runs, agents, turns, messages and calls, so that they meet often.
fn any_event() -> impl Strategy<Value = RunEvent> {
    let place = prop_oneof![
        4 => Just((None, vec![])),
        2 => Just((None, vec!["1-tool-0"])),
        1 => Just((None, vec!["1-tool-0", "1-tool-1"])),
        1 => Just((Some("child"), vec![])),
        1 => Just((Some("child"), vec!["1-tool-0"])),
    ];
    let agent = prop_oneof![Just(""), Just("desk"), Just("books")];
    let id = prop_oneof![3 => Just(String::new()), 2 => message_id(), 2 => "k/[0-9]{2}"];
    (place, agent, id, 1..3_u32, any_kind()).prop_map(|((workflow, path), agent, id, turn, kind)| {
        let path = path.into_iter().map(str::to_owned).collect();
        let workflow = workflow.map(str::to_owned);
        RunEvent { id, run: "k".to_owned(), workflow, path, agent: agent.to_owned(), turn, ..RunEvent::new(kind) }
    })
}

fn message_id() -> impl Strategy<Value = String> {
    (1..3_u32, 0..2_u32).prop_map(|(turn, index)| format!("k/{turn}-model/{index}"))
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let call_id = || prop_oneof![Just("c1".to_owned()), Just("c2".to_owned()), Just("c1#2".to_owned())];
    let parts = || (message_id(), 1..4_u32, prop_oneof![Just(""), Just("ab"), Just("abc")]);
    let text = prop_oneof![Just(""), Just("ab"), Just("abcabc"), Just("x")];
    let failure = || RecordedFailure::new("Timeout", "late");
    let reasoning = |text: &str| {
        let item = json!({"type": "reasoning", "summary": [{"text": text}]});
        EventKind::Reasoning { item: Item::try_from(item).expect("an item") }
    };
    let answered = |attempts| EventKind::ModelCallAnswered {
        attempts,
        earlier_failure: None,
        response_id: None,
        incomplete: None,
        usage: Usage::of_tokens(1, 1),
    };
    let plain = prop_oneof![
        Just(EventKind::RunStarted { input: Vec::new() }),
        Just(EventKind::RunResumed {}),
        Just(EventKind::RunPaused {}),
        Just(EventKind::TurnStarted {}),
        Just(EventKind::ModelCallScheduled { model: "m".to_owned() }),
        Just(EventKind::Handoff { from: "desk".to_owned(), to: "books".to_owned() }),
        Just(EventKind::RunReset { execution: "e".to_owned(), reason: String::new() }),
        Just(EventKind::RunFinished { output: Value::Null, usage: None }),
        Just(EventKind::RunFailed { failure: failure(), usage: None }),
        Just(EventKind::RunCancelled { usage: None }),
        Just(EventKind::ModelCallFailed { attempts: 1, failure: failure(), earlier_failure: None }),
        Just(EventKind::GuardrailTripped {
            guardrail: "g".to_owned(),
            stage: GuardrailStage::Input,
            tool: None,
            output_info: Value::Null,
        }),
        (1..4_u32).prop_map(answered),
        (1..4_u32).prop_map(|attempt| {
            EventKind::AttemptDelta { effect: "1-model".to_owned(), attempt, failure: None, next_at: None }
        }),
    ];
    let of_messages = prop_oneof![
        parts().prop_map(|(message_id, attempt, delta)| {
            EventKind::TextDelta { message_id, attempt, delta: delta.to_owned() }
        }),
        parts().prop_map(|(message_id, attempt, delta)| {
            EventKind::ReasoningDelta { message_id, attempt, delta: delta.to_owned() }
        }),
        text.clone().prop_map(|text| EventKind::Message { text: text.to_owned(), item: Item::assistant(text) }),
        text.prop_map(reasoning),
    ];
    let of_calls = prop_oneof![
        call_id().prop_map(|call_id| {
            let item = Item::function_call(&*call_id, "tool", "{}");
            EventKind::ToolCall { call_id, name: "tool".to_owned(), arguments: "{}".to_owned(), item }
        }),
        (call_id(), "[ab]").prop_map(|(call_id, output)| EventKind::ToolOutput {
            call_id,
            name: String::new(),
            output: output.into(),
            attempts: 1,
            earlier_failure: None,
            side_data: None,
            is_failure: false,
        }),
        call_id().prop_map(|call_id| {
            EventKind::EmittedDelta { call_id, attempt: 1, name: "map".to_owned(), value: json!(1) }
        }),
    ];
    prop_oneof![2 => plain, 3 => of_messages, 2 => of_calls]
}

proptest! {
    #[test]
    fn any_events_in_any_order_make_a_valid_stream(
        events in vec(any_event(), 0..60),
        end in 0..5_u32,
        is_resumed: bool,
    ) {
        let waiting = json!({"id": "c1/c2#2", "agent": "desk", "tool": "tool", "arguments": "{}"});
        let waiting: AgentInterruption = serde_json::from_value(waiting).expect("an interruption");
        let _ = Stream::of(AguiMapper::new("t", "r", is_resumed)).feed(events).end(|mapper| match end {
            0 => mapper.finished(None),
            1 => mapper.cancelled(),
            2 => mapper.failed("no", "Refused"),
            3 => mapper.paused(&[]),
            _ => mapper.paused(&[waiting]),
        });
    }
}

#[test]
fn the_verifier_refuses_streams_that_clients_refuse() {
    let start = json!({"type": "RUN_STARTED"});
    let open = json!({"type": "TEXT_MESSAGE_START", "messageId": "m"});
    let end = json!({"type": "RUN_FINISHED", "outcome": {"type": "success"}});
    let failure = json!({"type": "RUN_ERROR", "message": "no", "code": "Refused"});
    let call = json!({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "tool"});
    assert_eq!(verify(&[start.clone(), end.clone()]), Ok(()));
    for stream in [
        vec![end.clone()],
        vec![start.clone()],
        vec![start.clone(), start.clone(), end.clone()],
        vec![start.clone(), open.clone(), end.clone()],
        vec![start.clone(), open.clone(), failure.clone()],
        vec![start.clone(), call, failure],
        vec![start.clone(), open.clone(), open, end.clone()],
        vec![start.clone(), json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}), end.clone()],
        vec![start.clone(), end.clone(), end.clone()],
        vec![start.clone(), json!({"type": "CUSTOM", "value": null}), end.clone()],
        vec![start, json!({"type": "CUSTOM", "subagentRunId": "s"}), end],
    ] {
        assert!(verify(&stream).is_err(), "{stream:?}");
    }
}
