use insta::assert_snapshot;
use serde_json::json;
use temporal_agents_core::wire::{EventKind, Item};

use super::{Stream, answered, at, call, delta, event, handoff, message, output, scheduled};

#[test]
fn a_streamed_answer_is_one_message() {
    let events = [
        event("k/started", EventKind::RunStarted { input: vec![Item::user("hi")] }),
        event("k/1", EventKind::TurnStarted {}),
        scheduled("k/1-model"),
        delta("k/1-model/0", 1, "12 "),
        delta("k/1-model/0", 1, "degrees"),
        answered("k/1-model/answered", 1),
        delta("k/1-model/0", 1, "late"),
        message("k/1-model/0", "12 degrees"),
        message("k/1-model/0", "12 degrees"),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 "}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"degrees"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"provider":"openai","model":"openai::gpt","inputTokens":10,"outputTokens":2,"totalTokens":12}]}
    "#);
}

#[test]
fn an_answer_without_deltas_is_one_part() {
    let events = [scheduled("k/1-model"), answered("k/1-model/answered", 1), message("k/1-model/0", "12 degrees")];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 degrees"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"provider":"openai","model":"openai::gpt","inputTokens":10,"outputTokens":2,"totalTokens":12}]}
    "#);
}

#[test]
fn the_rest_of_a_message_follows_what_was_streamed_and_a_different_text_replaces_it() {
    let events = [
        delta("k/1-model/0", 1, "12 "),
        delta("k/1-model/1", 1, "secret"),
        message("k/1-model/0", "12 degrees"),
        message("k/1-model/1", "***"),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 "}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/1","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/1","delta":"secret"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"degrees"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/1"}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"k/1-model/0","role":"assistant","content":"12 degrees","name":"desk"},{"id":"k/1-model/1","role":"assistant","content":"***","name":"desk"}]}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}

#[test]
fn reasoning_ends_where_the_answer_begins() {
    let reasoning = |delta: &str| {
        let message_id = "k/1-model/0".to_owned();
        event("", EventKind::ReasoningDelta { message_id, attempt: 1, delta: delta.to_owned() })
    };
    let summary = json!([{"type": "summary_text", "text": "Think"}, {"type": "summary_text", "text": "again"}]);
    let item = Item::try_from(json!({"type": "reasoning", "summary": summary})).expect("an item");
    let events = [
        reasoning("Think"),
        reasoning("again"),
        delta("k/1-model/1", 1, "yes"),
        event("k/1-model/0", EventKind::Reasoning { item: item.clone() }),
        message("k/1-model/1", "yes"),
        at("k/2-model/0", "desk", 2, EventKind::Reasoning { item }),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"REASONING_START","messageId":"k/1-model/0"}
    {"type":"REASONING_MESSAGE_START","messageId":"k/1-model/0","role":"reasoning"}
    {"type":"REASONING_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"Think"}
    {"type":"REASONING_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"again"}
    {"type":"REASONING_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"REASONING_END","messageId":"k/1-model/0"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/1","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/1","delta":"yes"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/1"}
    {"type":"REASONING_START","messageId":"k/2-model/0"}
    {"type":"REASONING_MESSAGE_START","messageId":"k/2-model/0","role":"reasoning"}
    {"type":"REASONING_MESSAGE_CONTENT","messageId":"k/2-model/0","delta":"Think\n\nagain"}
    {"type":"REASONING_MESSAGE_END","messageId":"k/2-model/0"}
    {"type":"REASONING_END","messageId":"k/2-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_tool_call_is_sent_with_its_fact_and_then_its_result() {
    let arguments =
        EventKind::ToolArgumentsDelta { message_id: "k/1-model/0".to_owned(), attempt: 1, delta: "{".to_owned() };
    let progress = EventKind::ToolOutputDelta {
        call_id: "c1".to_owned(),
        name: "weather".to_owned(),
        attempt: 1,
        stream: "progress".to_owned(),
        delta: "half".to_owned(),
        fraction: Some(0.5),
    };
    let emitted = EventKind::EmittedDelta {
        call_id: "c1".to_owned(),
        attempt: 1,
        name: "map".to_owned(),
        value: json!({"zoom": 3}),
    };
    let events = [
        event("", arguments),
        call("k/1-model/0", "c1", "weather"),
        call("k/1-model/1", "c2", "weather"),
        event("", progress),
        event("", emitted),
        output("k/1-tool-0/output", "c1", json!("cold")),
        output("k/1-tool-1/output", "c2", json!([{"type": "input_text", "text": "warm"}])),
        output("k/1-tool-0/output-2", "c1", json!("hidden")),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"weather"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"weather"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c2"}
    {"type":"CUSTOM","name":"tool_output","value":{"toolCallId":"c1","toolName":"weather","attempt":1,"stream":"progress","delta":"half","fraction":0.5}}
    {"type":"CUSTOM","name":"map","value":{"toolCallId":"c1","attempt":1,"value":{"zoom":3}}}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-tool-0/output","toolCallId":"c1","content":"cold","role":"tool"}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-tool-1/output","toolCallId":"c2","content":"[{\"type\":\"input_text\",\"text\":\"warm\"}]","role":"tool"}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"id":"c2","role":"assistant","toolCalls":[{"id":"c2","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"id":"k/1-tool-0/output","role":"tool","content":"hidden","toolCallId":"c1"},{"id":"k/1-tool-1/output","role":"tool","content":"[{\"type\":\"input_text\",\"text\":\"warm\"}]","toolCallId":"c2"}]}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_failed_call_is_marked_before_its_result() {
    let failed = output("k/1-tool-0/output", "c1", json!("the tool failed"));
    let EventKind::ToolOutput { call_id, name, output, .. } = failed.kind else { panic!("an output") };
    let (attempts, earlier_failure, side_data, is_failure) = (0, None, None, true);
    let kind = EventKind::ToolOutput { call_id, name, output, attempts, earlier_failure, side_data, is_failure };
    let failed = event("k/1-tool-0/output", kind);
    let lines = Stream::new().feed([scheduled("k/1-model"), call("k/1-model/0", "c1", "look"), failed]).finish();
    let marked =
        json!({"type": "CUSTOM", "name": "tool_failed", "value": {"toolCallId": "c1", "error": "the tool failed"}});
    let lines: Vec<&str> = lines.lines().collect();
    let marked = marked.to_string();
    let place = lines.iter().position(|line| **line == marked).expect("the failure is sent");
    assert!(lines[place + 1].contains("TOOL_CALL_RESULT"), "{lines:?}");
}

#[test]
fn a_handoff_changes_the_step_and_the_state() {
    let events = [
        scheduled("k/1-model"),
        call("k/1-model/0", "c1", "transfer_to_books"),
        output("k/1-call-c1/output", "c1", json!("{\"assistant\":\"books\"}")),
        handoff("desk", "books"),
        at("k/2", "books", 2, EventKind::TurnStarted {}),
        at("k/2-model/0", "books", 2, EventKind::Message { text: "hello".to_owned(), item: Item::assistant("hello") }),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"transfer_to_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-call-c1/output","toolCallId":"c1","content":"{\"assistant\":\"books\"}","role":"tool"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"STEP_STARTED","stepName":"books"}
    {"type":"STATE_DELTA","delta":[{"op":"add","path":"/agent","value":"books"}]}
    {"type":"TEXT_MESSAGE_START","messageId":"k/2-model/0","role":"assistant","name":"books"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/2-model/0","delta":"hello"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/2-model/0"}
    {"type":"STEP_FINISHED","stepName":"books"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_new_attempt_removes_what_the_one_before_has_streamed() {
    let attempt = |attempt| {
        let (effect, failure, next_at) = ("1-model".to_owned(), None, None);
        event("", EventKind::AttemptDelta { effect, attempt, failure, next_at })
    };
    let events = [
        scheduled("k/1-model"),
        attempt(1),
        delta("k/1-model/0", 1, "12 deg"),
        attempt(2),
        delta("k/1-model/0", 1, "rees"),
        delta("k/1-model/0", 2, "13 degrees"),
        answered("k/1-model/answered", 2),
        message("k/1-model/0", "13 degrees"),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 deg"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"CUSTOM","name":"temporal.attempt","value":{"attempt":2}}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"}]}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0#2","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0#2","delta":"13 degrees"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0#2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"provider":"openai","model":"openai::gpt","inputTokens":10,"outputTokens":2,"totalTokens":12}]}
    "#);
}

#[test]
fn an_answer_of_an_attempt_without_deltas_replaces_what_was_streamed() {
    let events =
        [delta("k/1-model/0", 1, "12 deg"), answered("k/1-model/answered", 2), message("k/1-model/0", "13 degrees")];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 deg"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"CUSTOM","name":"temporal.attempt","value":{"attempt":2}}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"}]}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0#2","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0#2","delta":"13 degrees"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0#2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"provider":"unknown","model":"unknown","inputTokens":10,"outputTokens":2,"totalTokens":12}]}
    "#);
}
