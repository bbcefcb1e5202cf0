//! Reduces a Temporal failure to its type, its message and its cause.

use temporal_agents_core::wire::RecordedFailure;
use temporalio_common::{
    data_converters::{DataConverter, SerializationContextData},
    payload_visitor::decode_payloads,
    protos::temporal::api::failure::v1::{Failure as Wire, failure::FailureInfo},
};

use super::messages::plain;

/// Reads a failure. An encoded message is decoded, if the codec can do so.
pub(in crate::client) async fn read(converter: &DataConverter, failure: Wire) -> RecordedFailure {
    let mut decoded = failure.clone();
    match decode_payloads(&mut decoded, converter.codec(), &SerializationContextData::None).await {
        Ok(()) => short(converter, decoded),
        Err(_) => short(converter, failure),
    }
}

fn short(converter: &DataConverter, failure: Wire) -> RecordedFailure {
    let type_name = kind(&failure).to_owned();
    let Wire { message, encoded_attributes, cause, .. } = failure;
    let encoded = encoded_attributes.and_then(|payload| plain(converter, payload));
    let message = encoded.as_ref().and_then(|member| member["message"].as_str()).map_or(message, str::to_owned);
    RecordedFailure { type_name, message, cause: cause.map(|cause| Box::new(short(converter, *cause))) }
}

fn kind(failure: &Wire) -> &str {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) if !info.r#type.is_empty() => &info.r#type,
        Some(FailureInfo::ActivityFailureInfo(_)) => "Activity",
        Some(FailureInfo::TimeoutFailureInfo(_)) => "Timeout",
        Some(FailureInfo::CanceledFailureInfo(_)) => "Cancelled",
        Some(FailureInfo::TerminatedFailureInfo(_)) => "Terminated",
        Some(FailureInfo::ServerFailureInfo(_)) => "Server",
        Some(FailureInfo::ChildWorkflowExecutionFailureInfo(_)) => "ChildWorkflow",
        Some(FailureInfo::ResetWorkflowFailureInfo(_)) => "ResetWorkflow",
        _ => "Application",
    }
}
