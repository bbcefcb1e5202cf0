use insta::assert_snapshot;
use serde_json::{Value, json};
use temporal_agents_core::wire::{AgentInterruption, EventKind};

use super::{Stream, call, event, message, nested, output};
use crate::http::agui::{AguiMapper, AguiMessage, AguiRole};

fn waiting(members: Value) -> AgentInterruption {
    let mut whole = json!({"id": "c1", "agent": "desk", "tool": "pay", "arguments": "{}"});
    if let (Value::Object(whole), Value::Object(members)) = (&mut whole, members) {
        whole.extend(members);
    }
    serde_json::from_value(whole).expect("an interruption")
}

#[test]
fn an_approval_interrupts_after_the_call() {
    let events = [call("k/1-model/0", "c1", "pay"), event("k/1-paused-1", EventKind::RunPaused {})];
    let approval = waiting(json!({"id": "c1#2"}));
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.paused(&[approval])), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pay"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"c1#2","reason":"tool_call","message":"desk requests approval to call pay.","toolCallId":"c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string","description":"Message for the model, if the call is rejected."}},"required":["approved"]}}]}}
    "#);
}

#[test]
fn a_resumed_run_sends_only_the_result_of_the_call_that_waited() {
    let given = vec![AguiMessage::new("u1", AguiRole::User, "hi"), AguiMessage::calling("c1", "pay", "{}")];
    let mut mapper = AguiMapper::new("t", "r2", true);
    let events = mapper.start(Some(given));
    let events_of_run = [
        event("k/1-resumed-1", EventKind::RunResumed {}),
        call("k/1-model/0", "c1", "pay"),
        output("k/1-tool-0/output", "c1", json!("paid")),
        message("k/2-model/0", "done"),
    ];
    assert_snapshot!(Stream { mapper, events }.feed(events_of_run).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r2","protocolVersion":"1.0"}
    {"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u1","role":"user","content":"hi"},{"id":"c1","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"pay","arguments":"{}"}}]}]}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-tool-0/output","toolCallId":"c1","content":"paid","role":"tool"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/2-model/0","role":"assistant","name":"desk"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/2-model/0","delta":"done"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/2-model/0"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r2","outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_client_tool_is_pending() {
    let events = [call("k/1-model/0", "c1", "pick"), call("k/1-model/1", "c2", "pick")];
    let of_client = [waiting(json!({"kind": "output"})), waiting(json!({"kind": "output", "id": "c2"}))];
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.paused(&of_client)), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"pick"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"pick"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success","pendingToolCallIds":["c1","c2"]}}
    "#);
}

#[test]
fn a_question_of_a_server_and_a_call_of_a_hosted_server_interrupt_before_a_client_tool() {
    let schema = json!({"type": "object", "properties": {"size": {"type": "string"}}});
    let waiting = [
        waiting(json!({"kind": "input", "question": {"message": "Which size?", "schema": schema}})),
        waiting(json!({"id": "m1", "server": "crm", "tool": "delete"})),
        waiting(json!({"id": "c2", "kind": "output"})),
        waiting(json!({"id": "c3", "kind": "later"})),
    ];
    let events = [call("k/1-model/0", "c1", "order"), call("k/1-model/1", "c2", "pick")];
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.paused(&waiting)), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"order"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"pick"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c2","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c2"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"c1","reason":"input_required","message":"Which size?","toolCallId":"c1","responseSchema":{"type":"object","properties":{"size":{"type":"string"}}}},{"id":"m1","reason":"confirmation","message":"desk requests approval to call delete of crm.","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string","description":"Message for the model, if the call is rejected."}},"required":["approved"]},"metadata":{"server":"crm","tool":"delete","arguments":"{}"}},{"id":"c3","reason":"temporal-agents:other","message":"pay, called by desk, waits for an answer.","toolCallId":"c3"}]}}
    "#);
}

#[test]
fn an_approval_inside_an_agent_suspends_its_subagent() {
    let inner = nested(&["1-tool-0"], call("k/1-tool-0/1-model/0", "c1", "pay"));
    let events = [call("k/1-model/0", "c1", "ask_books"), inner];
    let approval = waiting(json!({"id": "c1/c1"}));
    assert_snapshot!(Stream::new().feed(events).end(|mapper| mapper.paused(&[approval])), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"desk","parentToolCallId":"c1"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_START","toolCallId":"1-tool-0/c1","toolCallName":"pay","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"1-tool-0/c1","delta":"{}","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_END","toolCallId":"1-tool-0/c1","subagentRunId":"k/1-tool-0"}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_FINISHED","subagentRunId":"k/1-tool-0","outcome":{"type":"suspended","interruptIds":["c1/c1"]}}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"c1/c1","reason":"tool_call","message":"desk requests approval to call pay.","toolCallId":"1-tool-0/c1","responseSchema":{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string","description":"Message for the model, if the call is rejected."}},"required":["approved"]},"subagentRunId":"k/1-tool-0"}]}}
    "#);
}
