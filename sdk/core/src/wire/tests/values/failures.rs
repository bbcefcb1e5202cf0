//! Failures as history has them.

use serde_json::{Map, Value, json};

use crate::wire::{
    ModelFailureDetails, ModelFailureKind, WIRE_VERSION,
    failure::{AGENTS_WORKFLOW_ERROR, ConversationPart, ConversationUnavailable, TOOL_ERROR, WIRE_VERSION_MISMATCH},
};

pub(in crate::wire::tests) fn model_failure_details_full() -> ModelFailureDetails {
    ModelFailureDetails {
        status: Some(429),
        code: Some("rate_limit_exceeded".to_owned()),
        request_id: Some("req_1".to_owned()),
        retry_after_ms: Some(1500),
        ..model_failure_details_minimal()
    }
}

pub(in crate::wire::tests) fn model_failure_details_minimal() -> ModelFailureDetails {
    ModelFailureDetails {
        version: WIRE_VERSION,
        kind: ModelFailureKind::RateLimit.name().to_owned(),
        agent: "triage".to_owned(),
        model: "gpt-5".to_owned(),
        status: None,
        code: None,
        request_id: None,
        retry_after_ms: None,
    }
}

pub(in crate::wire::tests) fn model_failure_details_response_too_large() -> ModelFailureDetails {
    let kind = ModelFailureKind::ResponseTooLarge;
    assert!(!kind.retryable());
    ModelFailureDetails { kind: kind.name().to_owned(), status: Some(200), ..model_failure_details_minimal() }
}

pub(in crate::wire::tests) fn conversation_unavailable() -> Vec<(&'static str, ConversationUnavailable)> {
    let of = |what| ConversationUnavailable { version: WIRE_VERSION, what, cause: "history is gone".to_owned() };
    vec![("definitions", of(ConversationPart::Definitions)), ("items", of(ConversationPart::Items))]
}

/// The failure types seen in history; of those of a model call, whether Temporal retries them.
pub(in crate::wire::tests) fn failure_types() -> Value {
    use ModelFailureKind as Kind;
    let kinds = [
        Kind::RateLimit,
        Kind::Authentication,
        Kind::PermissionDenied,
        Kind::BadRequest,
        Kind::NotFound,
        Kind::Timeout,
        Kind::Conflict,
        Kind::RequestTooLarge,
        Kind::ServerError,
        Kind::Connection,
        Kind::InvalidResponse,
        Kind::ResponseFailed,
        Kind::UnknownModel,
        Kind::Unsupported,
        Kind::Internal,
    ];
    let model_calls: Map<String, Value> =
        kinds.into_iter().map(|kind| (kind.failure_type(), kind.retryable().into())).collect();
    json!({"model_calls": model_calls, "others": [WIRE_VERSION_MISMATCH, TOOL_ERROR, AGENTS_WORKFLOW_ERROR]})
}
