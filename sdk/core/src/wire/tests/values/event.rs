//! Events of each kind, and notes of each kind.

use std::collections::BTreeMap;

use serde_json::json;

use super::{model_call::priced_usage, tool_call, trace_settings};

use crate::wire::{
    EventKind, GuardrailStage, Item, RecordedFailure, RunEvent, Usage, Verdict,
    event::{FailedCallNote, GatedCallNote, NoteKind, NotedDecision, NotedOutput, RunNote, TrippedGuardrail},
    run_state::InterruptionKind,
};

fn event(id: &str, kind: EventKind) -> RunEvent {
    RunEvent {
        cursor: Some("1.0190c7a2-5d3e-7c4e-a4b9-7a4d0f1c2b3d.12.0".to_owned()),
        id: format!("k3x9q2ab/{id}"),
        run: "k3x9q2ab".to_owned(),
        agent: "desk".to_owned(),
        turn: 1,
        time: "2026-11-23T12:00:00.5Z".to_owned(),
        ..RunEvent::new(kind)
    }
}

fn gated() -> GatedCallNote {
    GatedCallNote {
        call_id: "call_1".to_owned(),
        tool: "run_command".to_owned(),
        is_denied: true,
        rule: Some("no-force".to_owned()),
        reason: "history is shared".to_owned(),
    }
}

fn failed_call() -> FailedCallNote {
    FailedCallNote {
        call_id: "call_1".to_owned(),
        tool: "refund".to_owned(),
        failure: RecordedFailure::new("ToolError", "order: fails type, allowed: \"integer\""),
    }
}

fn failure() -> RecordedFailure {
    let cause = Box::new(RecordedFailure::new("Timeout", "activity StartToClose timeout"));
    RecordedFailure {
        cause: Some(cause),
        ..RecordedFailure::new("ModelInvocationError.RateLimit", "too many requests")
    }
}

#[expect(clippy::too_many_lines, reason = "one value for each kind")]
pub(in crate::wire) fn run_events() -> Vec<(&'static str, RunEvent)> {
    let item = || Item::function_call("call_1", "refund", "{\"order\":7}");
    let usage = || Usage::of_tokens(100, 10);
    let nested = RunEvent {
        path: vec!["1-tool-0".to_owned(), "2-tool-1".to_owned()],
        workflow: Some("refund-7/k3x9q2ab-1-tool-0".to_owned()),
        is_opaque: true,
        ..event("1-tool-0/2-tool-1/1", EventKind::TurnStarted {})
    };
    vec![
        ("nested", nested),
        ("run_started", event("started", EventKind::RunStarted { input: vec![Item::user("hi")] })),
        ("run_resumed", event("1-resumed-1", EventKind::RunResumed {})),
        ("run_continued", event("1/continued", EventKind::RunContinued { execution: "0190c7a2".to_owned() })),
        (
            "run_reset",
            event("reset", EventKind::RunReset { execution: "0190c7a2".to_owned(), reason: "bug".to_owned() }),
        ),
        ("run_paused", event("1-paused-1", EventKind::RunPaused {})),
        ("run_finished", event("ended", EventKind::RunFinished { output: json!({"ok": true}), usage: Some(usage()) })),
        (
            "run_finished-priced",
            event("ended", EventKind::RunFinished { output: json!(3), usage: Some(priced_usage()) }),
        ),
        ("run_failed", event("ended", EventKind::RunFailed { failure: failure(), usage: None })),
        ("run_cancelled", event("ended", EventKind::RunCancelled { usage: None })),
        ("run_terminated", event("ended", EventKind::RunTerminated { reason: "enough".to_owned() })),
        ("run_timed_out", event("ended", EventKind::RunTimedOut {})),
        ("model_call_scheduled", event("1-model", EventKind::ModelCallScheduled { model: "gpt-5".to_owned() })),
        (
            "model_call_answered",
            event(
                "1-model/answered",
                EventKind::ModelCallAnswered {
                    attempts: 2,
                    earlier_failure: Some(failure()),
                    response_id: Some("resp_1".to_owned()),
                    incomplete: Some("max_output_tokens".to_owned()),
                    usage: usage(),
                },
            ),
        ),
        (
            "model_call_failed",
            event(
                "1-model/failed",
                EventKind::ModelCallFailed { attempts: 1, failure: failure(), earlier_failure: None },
            ),
        ),
        ("message", event("1-model/0", EventKind::Message { text: "hi".to_owned(), item: Item::assistant("hi") })),
        ("reasoning", event("1-model/1", EventKind::Reasoning { item: item().with("type", json!("reasoning")) })),
        (
            "tool_call",
            event(
                "1-model/2",
                EventKind::ToolCall {
                    call_id: "call_1".to_owned(),
                    name: "refund".to_owned(),
                    arguments: "{\"order\":7}".to_owned(),
                    item: item(),
                },
            ),
        ),
        (
            "other_item",
            event("1-model/3", EventKind::OtherItem { item: item().with("type", json!("web_search_call")) }),
        ),
        (
            "tool_output",
            event(
                "1-tool-0/output",
                EventKind::ToolOutput {
                    call_id: "call_1".to_owned(),
                    name: "refund".to_owned(),
                    output: json!("refunded 7"),
                    attempts: 1,
                    earlier_failure: None,
                    side_data: None,
                    is_failure: false,
                },
            ),
        ),
        (
            "tool_output-side_data",
            event(
                "1-tool-0/output",
                EventKind::ToolOutput {
                    call_id: "call_1".to_owned(),
                    name: "weather".to_owned(),
                    output: json!("12 degrees, dry"),
                    attempts: 1,
                    earlier_failure: None,
                    side_data: Some(tool_call::side_data().into()),
                    is_failure: false,
                },
            ),
        ),
        (
            "tool_output-failure",
            event(
                "1-tool-0/output",
                EventKind::ToolOutput {
                    call_id: "call_1".to_owned(),
                    name: "refund".to_owned(),
                    output: json!("An error occurred while running the tool. Please try again."),
                    attempts: 0,
                    earlier_failure: None,
                    side_data: None,
                    is_failure: true,
                },
            ),
        ),
        (
            "tool_failed",
            event(
                "1-tool-0/failed",
                EventKind::ToolFailed {
                    call_id: "call_1".to_owned(),
                    name: "refund".to_owned(),
                    attempts: 3,
                    failure: failure(),
                    earlier_failure: Some(failure()),
                },
            ),
        ),
        ("handoff", event("1/handoff", EventKind::Handoff { from: "desk".to_owned(), to: "refunds".to_owned() })),
        (
            "guardrail_tripped",
            event(
                "1-guardrail-1",
                EventKind::GuardrailTripped {
                    guardrail: "no_homework".to_owned(),
                    stage: GuardrailStage::ToolInput,
                    tool: Some("refund".to_owned()),
                    output_info: json!({"why": "homework"}),
                },
            ),
        ),
        (
            "tool_gated",
            event(
                "1-gated-1",
                EventKind::ToolGated {
                    call_id: "call_1".to_owned(),
                    tool: "run_command".to_owned(),
                    is_denied: true,
                    rule: Some("no-force".to_owned()),
                    reason: "history is shared".to_owned(),
                },
            ),
        ),
        (
            "question_asked",
            event(
                "1-question-1",
                EventKind::QuestionAsked {
                    question_id: "call_1".to_owned(),
                    asked_by: "desk".to_owned(),
                    tool: "refund".to_owned(),
                    arguments: "{\"order\":7}".to_owned(),
                    is_cut: true,
                    server: Some("crm".to_owned()),
                    waits_for: InterruptionKind::Output,
                    expires_at: None,
                },
            ),
        ),
        (
            "question_decided",
            event(
                "1-decision-1",
                EventKind::QuestionDecided {
                    question_id: "call_1".to_owned(),
                    decision: Verdict::Reject { message: Some("no".to_owned()) },
                    always: true,
                    by: Some("ann".to_owned()),
                },
            ),
        ),
        ("compaction", event("1/compaction", EventKind::Compaction { items_before: 40, items_after: 9 })),
        (
            "attempt_delta",
            event(
                "",
                EventKind::AttemptDelta {
                    effect: "1-model".to_owned(),
                    attempt: 1,
                    failure: Some(failure()),
                    next_at: Some("2026-11-23T12:00:01Z".to_owned()),
                },
            ),
        ),
        (
            "text_delta",
            event(
                "",
                EventKind::TextDelta { message_id: "k3x9q2ab/1-model/0".to_owned(), attempt: 1, delta: "h".to_owned() },
            ),
        ),
        (
            "reasoning_delta",
            event(
                "",
                EventKind::ReasoningDelta {
                    message_id: "k3x9q2ab/1-model/0".to_owned(),
                    attempt: 1,
                    delta: "h".to_owned(),
                },
            ),
        ),
        (
            "tool_arguments_delta",
            event(
                "",
                EventKind::ToolArgumentsDelta {
                    message_id: "k3x9q2ab/1-model/0".to_owned(),
                    attempt: 1,
                    delta: "{".to_owned(),
                },
            ),
        ),
        (
            "tool_output_delta",
            event(
                "",
                EventKind::ToolOutputDelta {
                    call_id: "call_1".to_owned(),
                    name: "refund".to_owned(),
                    attempt: 1,
                    stream: "progress".to_owned(),
                    delta: "half".to_owned(),
                    fraction: Some(0.5),
                },
            ),
        ),
        (
            "emitted_delta",
            event(
                "",
                EventKind::EmittedDelta {
                    call_id: "call_1".to_owned(),
                    attempt: 1,
                    name: "chart".to_owned(),
                    value: json!([1, 2]),
                },
            ),
        ),
    ]
}

pub(in crate::wire::tests) fn run_notes() -> Vec<(&'static str, RunNote)> {
    let note = |kind| RunNote { run: "k3x9q2ab".to_owned(), ..RunNote::new("desk", 2, kind) };
    let guardrail = || TrippedGuardrail::new("no_homework", GuardrailStage::Input, None, &json!("homework"));
    let usage = || Usage::of_tokens(100, 10);
    let decision = NotedDecision { id: "call_1".to_owned(), decision: Verdict::Approve, by: Some("ann".to_owned()) };
    let output = Item::function_call_output("call_1", json!("3"));
    vec![
        ("paused", note(NoteKind::Paused).with_outputs(vec![output])),
        ("resumed", note(NoteKind::Resumed { decisions: vec![decision] })),
        ("guardrail_tripped", note(NoteKind::GuardrailTripped { guardrail: guardrail() })),
        ("gated", note(NoteKind::Gated { calls: vec![gated()] })),
        ("calls_failed", note(NoteKind::CallsFailed { calls: vec![failed_call()] })),
        ("compacted", note(NoteKind::Compacted { before: 40, after: 9 })),
        ("finished-text", note(NoteKind::Finished { output: NotedOutput::Text, usage: usage() })),
        ("finished-priced", note(NoteKind::Finished { output: NotedOutput::Text, usage: priced_usage() })),
        ("finished-json", note(NoteKind::Finished { output: NotedOutput::Json, usage: usage() })),
        ("finished-value", note(NoteKind::Finished { output: NotedOutput::Value { value: json!(3) }, usage: usage() })),
        (
            "finished-too_large",
            note(NoteKind::Finished { output: NotedOutput::TooLarge { bytes: 9000 }, usage: usage() }),
        ),
        (
            "failed",
            note(NoteKind::Failed {
                failure: RecordedFailure::new("MaxTurnsExceeded", "Max turns (1) exceeded"),
                guardrail: Some(guardrail()),
                usage: Some(usage()),
            }),
        ),
        (
            "side_data",
            note(NoteKind::SideData { calls: BTreeMap::from([("call_1".to_owned(), tool_call::side_data())]) }),
        ),
        (
            "traced",
            RunNote {
                trace: Some(Box::new(trace_settings())),
                ..note(NoteKind::Finished { output: NotedOutput::Text, usage: usage() })
            },
        ),
        ("cancelled", note(NoteKind::Cancelled { usage: Some(usage()) })),
    ]
}

/// A question that expires.
pub(in crate::wire) fn expiring_question() -> RunEvent {
    event(
        "1-question-2",
        EventKind::QuestionAsked {
            question_id: "call_2".to_owned(),
            asked_by: String::new(),
            tool: "refund".to_owned(),
            arguments: "{}".to_owned(),
            is_cut: false,
            server: None,
            waits_for: InterruptionKind::Approval,
            expires_at: Some(1_700_000_000_000),
        },
    )
}
