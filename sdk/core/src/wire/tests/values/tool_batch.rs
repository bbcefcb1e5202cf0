//! Several tool calls in one activity.

use serde_json::json;

use super::object;
use crate::wire::{
    RecordedFailure, ToolOutput, WIRE_VERSION,
    delta_window::DeltaWindow,
    digest::Digest,
    tool_batch::{
        BatchedCall, BatchedDeltas, BatchedFailure, BatchedOutcome, ToolBatchDetails, ToolBatchReply, ToolBatchRequest,
    },
    tool_error::FailureDetail,
};

fn call(index: u32) -> BatchedCall {
    BatchedCall {
        index,
        tool: "get_weather".to_owned(),
        call_id: format!("call_{index}"),
        arguments: object(json!({"city": "Oslo"})),
        context: object(json!({})),
        settings: object(json!({})),
        idempotency_key: "a1B2c3D4e5F6g7H8".to_owned(),
        schema: None,
        fails_run: false,
    }
}

pub(in crate::wire::tests) fn tool_batch_requests() -> Vec<(&'static str, ToolBatchRequest)> {
    let request = |calls| ToolBatchRequest {
        version: WIRE_VERSION,
        agent: "triage".to_owned(),
        turn: 2,
        time_limit_ms: 60_000,
        schedule_to_close_ms: None,
        session_id: None,
        parent_call: None,
        calls,
    };
    let full = BatchedCall {
        context: object(json!({"customer": 7})),
        settings: object(json!({"unit": "celsius"})),
        schema: Some(Digest::of_text("{}")),
        fails_run: true,
        ..call(3)
    };
    let limited = ToolBatchRequest { schedule_to_close_ms: Some(600_000), ..request(vec![full]) };
    let inside = ToolBatchRequest {
        session_id: Some("chat 7".to_owned()),
        parent_call: Some("X-msHvbBsvCjqPS3".to_owned()),
        ..request(vec![call(0), call(1)])
    };
    vec![("minimal", request(vec![call(0), call(1)])), ("full", limited), ("inside", inside)]
}

pub(in crate::wire::tests) fn failure_details() -> Vec<(&'static str, FailureDetail)> {
    let full = json!({
        "tell_model": "no such city",
        "code": "no_such_city",
        "issues": [{"field": "city", "constraint": "enum", "allowed": ["Oslo"]}],
        "example": {"city": "Oslo"},
    });
    let coded = json!({"code": "busy"});
    let allowed = "an integer from 0 to 4294967295";
    let refused = json!({
        "invalid_arguments": true,
        "issues": [{"field": "grams", "constraint": "value", "allowed": allowed}],
    });
    [("full", full), ("coded", coded), ("refused", refused)]
        .map(|(name, json)| (name, FailureDetail::read(Some(json))))
        .into()
}

fn outcomes() -> Vec<BatchedOutcome> {
    let failure = BatchedFailure {
        failure_type: "ToolError".to_owned(),
        message: "no such city".to_owned(),
        detail: FailureDetail::read(Some("no such city".into())),
        is_retried: false,
    };
    let busy = RecordedFailure::new("ToolError", "busy");
    vec![
        BatchedOutcome {
            attempt: 1,
            output: Some(ToolOutput::from("12 degrees")),
            context_patch: Some(json!({"city": "Oslo"})),
            ..BatchedOutcome::not_made(0)
        },
        BatchedOutcome {
            attempt: 2,
            failure: Some(failure),
            earlier_failure: Some(busy),
            ..BatchedOutcome::not_made(1)
        },
        BatchedOutcome { attempt: 2, is_cancelled: true, ..BatchedOutcome::not_made(2) },
        BatchedOutcome::not_made(3),
    ]
}

pub(in crate::wire::tests) fn tool_batch_reply() -> ToolBatchReply {
    ToolBatchReply { version: WIRE_VERSION, outcomes: outcomes() }
}

pub(in crate::wire::tests) fn tool_batch_details() -> Vec<(&'static str, ToolBatchDetails)> {
    let mut retried = outcomes();
    retried[1].failure.as_mut().expect("a failure").is_retried = true;
    let window = DeltaWindow { progress: "half".to_owned(), ..DeltaWindow::new(2) };
    let full = ToolBatchDetails { deltas: vec![BatchedDeltas { index: 4, window }], ..ToolBatchDetails::new(retried) };
    vec![("empty", ToolBatchDetails::new(Vec::new())), ("full", full)]
}
