use insta::assert_snapshot;
use serde_json::json;
use temporal_agents_core::wire::{EventKind, Item, RecordedFailure, RunEvent};

use super::{Stream, answered, at, call, delta, event, nested, output, scheduled};

fn of_books(event: RunEvent) -> RunEvent {
    nested(&["1-tool-0"], RunEvent { agent: "books".to_owned(), ..event })
}

#[test]
fn an_agent_as_a_tool_is_a_subagent_of_its_call() {
    let text = EventKind::Message { text: "two".to_owned(), item: Item::assistant("two") };
    let events = [
        scheduled("k/1-model"),
        answered("k/1-model/answered", 1),
        call("k/1-model/0", "c1", "ask_books"),
        of_books(event("k/1-tool-0/started", EventKind::RunStarted { input: Vec::new() })),
        of_books(event("k/1-tool-0/1-model", EventKind::ModelCallScheduled { model: "mini".to_owned() })),
        of_books(delta("k/1-tool-0/1-model/1", 1, "t")),
        of_books(answered("k/1-tool-0/1-model/answered", 1)),
        of_books(call("k/1-tool-0/1-model/0", "c1", "search")),
        of_books(event("k/1-tool-0/1-model/1", text)),
        of_books(output("k/1-tool-0/1-tool-0/output", "c1", json!("found"))),
        of_books(event("k/1-tool-0/ended", EventKind::RunFinished { output: json!("two"), usage: None })),
        of_books(delta("k/1-tool-0/2-model/0", 1, "late")),
        output("k/1-tool-0/output", "c1", json!("two")),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"STEP_STARTED","stepName":"desk"}
    {"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"ask_books"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{}"}
    {"type":"TOOL_CALL_END","toolCallId":"c1"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"books","parentToolCallId":"c1"}
    {"type":"STEP_STARTED","stepName":"books","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_START","messageId":"k/1-tool-0/1-model/1","role":"assistant","name":"books","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-tool-0/1-model/1","delta":"t","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_START","toolCallId":"1-tool-0/c1","toolCallName":"search","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_ARGS","toolCallId":"1-tool-0/c1","delta":"{}","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_END","toolCallId":"1-tool-0/c1","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_CONTENT","messageId":"k/1-tool-0/1-model/1","delta":"wo","subagentRunId":"k/1-tool-0"}
    {"type":"TEXT_MESSAGE_END","messageId":"k/1-tool-0/1-model/1","subagentRunId":"k/1-tool-0"}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-tool-0/1-tool-0/output","toolCallId":"1-tool-0/c1","content":"found","role":"tool","subagentRunId":"k/1-tool-0"}
    {"type":"STEP_FINISHED","stepName":"books","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_FINISHED","subagentRunId":"k/1-tool-0","result":"two","outcome":{"type":"success"}}
    {"type":"TOOL_CALL_RESULT","messageId":"k/1-tool-0/output","toolCallId":"c1","content":"two","role":"tool"}
    {"type":"STEP_FINISHED","stepName":"desk"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"},"usage":[{"provider":"openai","model":"openai::gpt","inputTokens":10,"outputTokens":2,"totalTokens":12},{"provider":"unknown","model":"mini","inputTokens":10,"outputTokens":2,"totalTokens":12}]}
    "#);
}

#[test]
fn a_nested_run_that_fails_ends_the_runs_inside_it() {
    let inner = |event| nested(&["1-tool-0", "1-tool-1"], event);
    let failure = RecordedFailure::new("MaxTurns", "too many turns");
    let events = [
        of_books(event("k/1-tool-0/1", EventKind::TurnStarted {})),
        inner(at("", "shelf", 1, EventKind::TurnStarted {})),
        of_books(event("k/1-tool-0/ended", EventKind::RunFailed { failure, usage: None })),
        inner(at("", "shelf", 1, EventKind::TurnStarted {})),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0","name":"books"}
    {"type":"STEP_STARTED","stepName":"books","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"k/1-tool-0/1-tool-1","name":"shelf","parentSubagentRunId":"k/1-tool-0"}
    {"type":"STEP_STARTED","stepName":"shelf","subagentRunId":"k/1-tool-0/1-tool-1"}
    {"type":"STEP_FINISHED","stepName":"shelf","subagentRunId":"k/1-tool-0/1-tool-1"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"k/1-tool-0/1-tool-1","message":"too many turns","code":"MaxTurns"}
    {"type":"STEP_FINISHED","stepName":"books","subagentRunId":"k/1-tool-0"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"k/1-tool-0","message":"too many turns","code":"MaxTurns"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}

#[test]
fn a_child_workflow_is_a_subagent_and_a_summary_is_not() {
    let of_child = |event| RunEvent { workflow: Some("child".to_owned()), run: "c".to_owned(), ..event };
    let events = [
        nested(&["1-summary"], delta("k/1-summary/1-model/0", 1, "short")),
        of_child(event("c/1", EventKind::TurnStarted {})),
        of_child(event("c/ended", EventKind::RunTimedOut {})),
    ];
    assert_snapshot!(Stream::new().feed(events).finish(), @r#"
    {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}
    {"type":"SUBAGENT_STARTED","subagentRunId":"child/c","name":"desk"}
    {"type":"STEP_STARTED","stepName":"desk","subagentRunId":"child/c"}
    {"type":"STEP_FINISHED","stepName":"desk","subagentRunId":"child/c"}
    {"type":"SUBAGENT_ERROR","subagentRunId":"child/c","message":"the run has timed out","code":"Timeout"}
    {"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"success"}}
    "#);
}
