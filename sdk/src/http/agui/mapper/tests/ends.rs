use insta::assert_snapshot;
use serde_json::{Value, json};
use temporal_agents_core::wire::{EventKind, GuardrailStage};

use super::{Stream, call, delta, event, message, nested, output};
use crate::http::agui::AguiMapper;

#[test]
fn an_output_that_is_no_string_is_the_result() {
    let output = json!({"degrees": 12});
    assert_snapshot!(Stream::new().end(|mapper| mapper.finished(Some(&output))), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","result":{"degrees":12},"outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_cancelled_run_closes_what_is_open() {
    let inner = nested(&["1-tool-0"], delta("k/1-tool-0/1-model/0", 1, "sear"));
    let events = [delta("k/1-model/0", 1, "12 "), inner];
    assert_snapshot!(Stream::new().feed(events).end(AguiMapper::cancelled), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 "}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"desk"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-tool-0/1-model/0","role":"assistant","name":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-tool-0/1-model/0","delta":"sear","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-tool-0/1-model/0","subagentRunId":"k/1-tool-0"}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"k/1-tool-0","message":"the run was cancelled","code":"Cancelled"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"cancelled"}}
    "#);
}

#[test]
fn a_failed_run_ends_with_its_error() {
    let tripped = EventKind::GuardrailTripped {
        guardrail: "no secrets".to_owned(),
        stage: GuardrailStage::Output,
        tool: None,
        output_info: Value::Null,
    };
    let events = [delta("k/1-model/0", 1, "12 "), event("k/1-guardrail-1", tripped)];
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.failed("no", "OutputGuardrail")), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-model/0","delta":"12 "}
    {"type":"CUSTOM","name":"guardrail","value":{"guardrail":"no secrets","stage":"output"}}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_ERROR","message":"no","code":"OutputGuardrail"}
    "#);
}

#[test]
fn a_run_that_fails_leaves_nothing_open() {
    let inner = nested(&["1-tool-0"], delta("k/1-tool-0/1-model/0", 1, "sear"));
    let part = EventKind::ReasoningDelta { message_id: "k/1-model/2".to_owned(), attempt: 1, delta: "Hm".to_owned() };
    let events = [call("k/1-model/0", "c1", "ask_books"), inner, event("", part)];
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.failed("the shop burns", "ToolError")), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"desk","parentToolCallId":"c1"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-tool-0/1-model/0","role":"assistant","name":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-tool-0/1-model/0","delta":"sear","subagentRunId":"k/1-tool-0"}
    {"type":"REASONING_START","messageId":"k/1-model/2"}
    {"type":"REASONING_MESSAGE_START","messageId":"k/1-model/2","role":"reasoning"}
    {"type":"REASONING_MESSAGE_CONTENT","messageId":"k/1-model/2","delta":"Hm"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-tool-0/1-model/0","subagentRunId":"k/1-tool-0"}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"k/1-tool-0","message":"the shop burns","code":"ToolError"}
    {"type":"REASONING_MESSAGE_END","messageId":"k/1-model/2"}
    {"type":"REASONING_END","messageId":"k/1-model/2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_ERROR","message":"the shop burns","code":"ToolError"}
    "#);
}

#[test]
fn nothing_follows_the_end() {
    let mut mapper = AguiMapper::new("t", "r", false);
    assert_eq!(mapper.failed("no", "Refused").len(), 1);
    assert!(mapper.is_over());
    assert_eq!(mapper.start(None), []);
    assert_eq!(mapper.event(&delta("k/1-model/0", 1, "12 ")), []);
    assert_eq!(mapper.finished(None), []);
    assert_eq!(mapper.paused(&[]), []);
    assert_eq!(mapper.cancelled(), []);
    assert_eq!(mapper.failed("no", "Refused"), []);
}

#[test]
fn a_reset_removes_the_messages_of_the_run() {
    let reset = EventKind::RunReset { execution: "e2".to_owned(), reason: "bad deploy".to_owned() };
    let inner = |id: &str| nested(&["1-tool-0"], event(id, EventKind::TurnStarted {}));
    let events = [
        call("k/1-model/0", "c1", "ask_books"),
        inner("k/1-tool-0/1"),
        delta("k/2-model/0", 1, "12 "),
        event("k/reset", reset),
        call("k~e2/1-model/0", "c1", "ask_books"),
        inner("k~e2/1-tool-0/1"),
        output("k~e2/1-tool-0/output", "c1", json!("two")),
        message("k~e2/2-model/0", "two"),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"desk","parentToolCallId":"c1"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/2-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/2-model/0","delta":"12 "}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"k/1-tool-0","message":"the workflow was reset","code":"Reset"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/2-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"CUSTOM","name":"temporal.reset","value":{"reason":"bad deploy"}}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"}]}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0#2","name":"desk","parentToolCallId":"c1"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"k/1-tool-0#2"}
    {"type":"TOOL_CALL_RESULT","messageId":"k~e2/1-tool-0/output","toolCallId":"c1","content":"two","role":"tool"}
    {"type":"TEXT_MESSAGE_START","messageId":"k~e2/2-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k~e2/2-model/0","delta":"two"}
    {"type":"TEXT_MESSAGE_END","messageId":"k~e2/2-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"k/1-tool-0#2"}
    {"type":"SUBAGENT_FINISHED","subagentRunId":"k/1-tool-0#2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}
