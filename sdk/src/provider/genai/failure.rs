//! From the crate's errors to the failures of this one.
//!
//! The crate's own texts are not used where they may hold the request or the answer whole: what becomes a message is recorded in
//! history.

use std::sync::Arc;

use ::genai::{Error, resolver, webc};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use crate::{
    provider::{
        ModelError,
        http::{
            answer::Answer,
            body::{MOST_BYTES, MOST_OF_AN_ERROR},
            classify::{self, ProviderError},
            redact::Redactor,
        },
    },
    wire::ModelFailureKind,
};

/// Most characters of an explanation of the crate's.
const LONGEST: usize = 300;

/// The failure that an error of the crate stands for, at this address.
pub(super) fn of(error: Error, address: &str, redactor: &Arc<Redactor>) -> ModelError {
    let shown = |error: &Error| redactor.excerpt(&error.to_string(), LONGEST);
    match error {
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            exchange(webc_error, address, redactor)
        }
        Error::HttpError { status, body, headers, .. } => refused(status, *headers, body, redactor),
        Error::ChatResponseGeneration { response_body, cause, .. } => unreadable(&response_body, &cause, redactor),
        Error::Resolver { resolver_error: resolver::Error::ApiKeyEnvNotFound { env_name }, .. } => failure(
            ModelFailureKind::Authentication,
            &format!(
                "{env_name} is not set; set it in the worker's environment, or give a key with `Genai::builder().api_key(..)`"
            ),
        ),
        error @ (Error::Resolver { .. }
        | Error::RequiresApiKey { .. }
        | Error::NoAuthResolver { .. }
        | Error::NoAuthData { .. }) => failure(ModelFailureKind::Authentication, &shown(&error)),
        error @ (Error::ChatReqHasNoMessages { .. }
        | Error::LastChatMessageIsNotUser { .. }
        | Error::JsonModeWithoutInstruction) => failure(ModelFailureKind::BadRequest, &shown(&error)),
        error @ (Error::MessageRoleNotSupported { .. }
        | Error::MessageContentTypeNotSupported { .. }
        | Error::AdapterNotSupported { .. }) => failure(ModelFailureKind::Unsupported, &shown(&error)),
        error => failure(ModelFailureKind::Internal, &shown(&error)),
    }
}

/// The answer that the crate read, as one of ours.
pub(super) fn answer(body: &Value, redactor: &Arc<Redactor>) -> Answer {
    let body = if body.is_object() { body.to_string() } else { String::new() };
    success(body, redactor)
}

fn failure(kind: ModelFailureKind, what: &str) -> ModelError {
    ModelError::new(kind, format!("{}: {what}", classify::label(kind)))
}

fn exchange(error: webc::Error, address: &str, redactor: &Arc<Redactor>) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => refused(status, *headers, body, redactor),
        webc::Error::ResponseFailedNotJson { body, .. } | webc::Error::ResponseFailedInvalidJson { body, .. } => {
            if body.len() > MOST_BYTES {
                return success(String::new(), redactor).too_large();
            }
            let answer = success(body, redactor);
            // It may be JSON under another content type; then it is no answer all the same.
            answer.object().err().unwrap_or_else(|| answer.invalid("the answer is not sent as JSON"))
        }
        webc::Error::Reqwest(error) => classify::unanswered(error, address, redactor),
        webc::Error::JsonValueExt(error) => {
            failure(ModelFailureKind::Internal, &redactor.excerpt(&error.to_string(), LONGEST))
        }
    }
}

/// An unsuccessful status. Where the error has no code, its type serves: Anthropic has nothing else.
fn refused(status: StatusCode, headers: HeaderMap, mut body: String, redactor: &Arc<Redactor>) -> ModelError {
    body.truncate(body.floor_char_boundary(MOST_OF_AN_ERROR));
    let said = ProviderError::in_failure(&body).unwrap_or_default();
    let answer = Answer { status, headers, body: body.into_bytes(), redactor: Arc::clone(redactor) };
    let mut failure = answer.status_failure();
    failure.code = failure.code.or_else(|| said.r#type.map(|name| redactor.excerpt(&name, LONGEST)));
    failure
}

/// A success that the crate could not read: an error in disguise, a blocked prompt, or no answer of a model.
fn unreadable(body: &Value, cause: &str, redactor: &Arc<Redactor>) -> ModelError {
    let answer = answer(body, redactor);
    if let Err(error) = answer.object() {
        return error;
    }
    if let Some(reason) = body["promptFeedback"]["blockReason"].as_str() {
        return answer.failure(ModelFailureKind::BadRequest, &format!("the prompt was blocked ({reason})"));
    }
    answer.invalid(&format!("the answer is not that of a model ({})", redactor.excerpt(cause, LONGEST)))
}

/// The crate keeps of a successful answer the body alone; its status is known to be one of 2xx.
fn success(body: String, redactor: &Arc<Redactor>) -> Answer {
    Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.into_bytes(),
        redactor: Arc::clone(redactor),
    }
}
