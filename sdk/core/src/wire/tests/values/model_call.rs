//! Model calls: requests in full and by reference, replies.

use serde_json::json;

use crate::wire::{
    Conversation, Cost, Definitions, InputSegment, InputTokensDetails, ModelCall, ModelReply, ModelRequest,
    ModelResponse, ModelTracing, OutputTokensDetails, Usage, conversation::RecordRequest, definitions::DefinitionsPart,
};

use super::{definitions, items};

pub(in crate::wire::tests) fn model_call() -> ModelCall {
    let mut call = ModelCall::new("weather desk", "gpt-5", definitions(), items());
    call.turn = 2;
    call.previous_response_id = Some("resp_1".to_owned());
    call.conversation_id = Some("conv_1".to_owned());
    call
}

pub(in crate::wire::tests) fn model_request_full() -> ModelRequest {
    ModelRequest::in_full(&model_call())
}

pub(in crate::wire::tests) fn model_request_traced() -> ModelRequest {
    let mut call = model_call();
    call.tracing = Some(ModelTracing::EnabledWithoutData);
    ModelRequest::in_full(&call)
}

pub(in crate::wire::tests) fn model_request_minimal() -> ModelRequest {
    ModelRequest::in_full(&ModelCall::new("triage", "gpt-5", Definitions::default(), vec![]))
}

/// References to earlier calls and to the result of a tool.
pub(in crate::wire::tests) fn model_request_by_reference() -> ModelRequest {
    let mut request = model_request_full();
    let Conversation { count, digest, .. } = request.input;
    let call = |start, end, results| InputSegment::Call {
        activity_id: "r1-1-model".to_owned(),
        part: None,
        start,
        end,
        results,
    };
    let segments = vec![
        call(0, 2, 1),
        call(2, 3, 0),
        InputSegment::ToolResult { activity_id: "r1-1-tool-7".to_owned() },
        InputSegment::Items { items: items().split_off(5) },
    ];
    request.input = Conversation { segments, count, digest };
    let digest = definitions().digest();
    request.definitions = DefinitionsPart::Call { activity_id: "r1-1-model".to_owned(), digest };
    request
}

/// References to items that were recorded by themselves.
pub(in crate::wire::tests) fn model_request_by_recording() -> ModelRequest {
    let mut request = model_request_by_reference();
    let recorded =
        |number, start, end| InputSegment::Recorded { activity_id: format!("r1-2-model-items-{number}"), start, end };
    request.input.segments = vec![recorded(0, 0, 3), recorded(1, 0, request.input.count - 3)];
    request
}

pub(in crate::wire::tests) fn record_request() -> RecordRequest {
    RecordRequest::from(items())
}

pub(super) fn usage() -> Usage {
    Usage {
        requests: 1,
        input_tokens: 120,
        input_tokens_details: InputTokensDetails { cached_tokens: 100, cache_write_tokens: 20 },
        output_tokens: 30,
        output_tokens_details: OutputTokensDetails { reasoning_tokens: 12 },
        total_tokens: 150,
        ..Usage::default()
    }
}

/// A usage of two requests, of which one has a price.
pub(super) fn priced_usage() -> Usage {
    Usage { requests: 2, cost: Cost::of_billionths("USD", 345_000), unpriced_requests: 1, ..usage() }
}

pub(in crate::wire::tests) fn model_reply_priced() -> ModelReply {
    ModelReply::from(ModelResponse::new(vec![], priced_usage()))
}

pub(in crate::wire::tests) fn model_reply_full() -> ModelReply {
    ModelReply::from(ModelResponse {
        output: items().split_off(1),
        usage: usage(),
        response_id: Some("resp_2".to_owned()),
        request_id: Some("req_1".to_owned()),
        incomplete: Some("max_output_tokens".to_owned()),
        raw_usage: Some(json!({"input_tokens": 120, "output_tokens": 30, "energy": 1.5})),
    })
}

pub(in crate::wire::tests) fn model_reply_minimal() -> ModelReply {
    ModelReply::from(ModelResponse::default())
}
