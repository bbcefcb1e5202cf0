//! From the crate's errors to the failures of this library.
//!
//! The crate's own messages are not used if they may contain the whole request or response, because
//! the message of a failure is recorded in history.

use std::sync::Arc;

use ::genai::{Error, resolver, webc};
use reqwest::{StatusCode, header::HeaderMap};
use serde_json::Value;

use crate::provider::{
    ModelError,
    http::{
        answer::Answer,
        body::{MAX_ERROR_BODY_BYTES, MOST_BYTES},
        classify::{self, failure},
        redact::Redactor,
    },
};
use temporal_agents_core::wire::ModelFailureKind;

/// Maximum length of an explanation of the crate, in characters.
const LONGEST: usize = 300;

/// Converts an error of the crate, for a request to this address, to a failure.
pub(super) fn of(error: Error, address: &str, redactor: &Arc<Redactor>) -> ModelError {
    let shown = |error: &Error| redactor.excerpt(&error.to_string(), LONGEST);
    match error {
        Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
            exchange(webc_error, address, redactor)
        }
        Error::HttpError { status, body, headers, .. } => refused(&refused_answer(status, *headers, body, redactor)),
        Error::ChatResponseGeneration { response_body, cause, .. } => unreadable(&response_body, &cause, redactor),
        Error::Resolver { resolver_error: resolver::Error::ApiKeyEnvNotFound { env_name }, .. } => failure(
            ModelFailureKind::Authentication,
            &format!(
                "{env_name} is not set; set it in the worker's environment, or set a key with \
                 `Genai::builder().api_key(..)`"
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

/// Converts the body that the crate read to an [`Answer`].
pub(super) fn answer(body: &Value, redactor: &Arc<Redactor>) -> Answer {
    let body = if body.is_object() { body.to_string() } else { String::new() };
    success(body, redactor)
}

fn exchange(error: webc::Error, address: &str, redactor: &Arc<Redactor>) -> ModelError {
    match error {
        webc::Error::ResponseFailedStatus { status, body, headers } => {
            refused(&refused_answer(status, *headers, body, redactor))
        }
        webc::Error::ResponseFailedNotJson { body, .. } | webc::Error::ResponseFailedInvalidJson { body, .. } => {
            if body.len() > MOST_BYTES {
                return success(String::new(), redactor).too_large();
            }
            let answer = success(body, redactor);
            // The body may be JSON under another content type, but then it is not a valid response
            // either.
            answer.object().err().unwrap_or_else(|| answer.invalid("the answer is not sent as JSON"))
        }
        webc::Error::Reqwest(error) => classify::unanswered(error, address, redactor),
        webc::Error::JsonValueExt(error) => {
            failure(ModelFailureKind::Internal, &redactor.excerpt(&error.to_string(), LONGEST))
        }
    }
}

/// Returns the failure of an unsuccessful status.
pub(super) fn refused(answer: &Answer) -> ModelError {
    answer.with_type(answer.status_failure())
}

/// Returns the answer of an unsuccessful status.
pub(super) fn refused_answer(
    status: StatusCode,
    headers: HeaderMap,
    mut body: String,
    redactor: &Arc<Redactor>,
) -> Answer {
    body.truncate(body.floor_char_boundary(MAX_ERROR_BODY_BYTES));
    Answer { status, headers, body: body.into_bytes(), redactor: Arc::clone(redactor), place: None }
}

/// Returns the failure of a successful response that the crate could not read: an error with a
/// success status, a blocked prompt, or a body that is not a model's response.
fn unreadable(body: &Value, cause: &str, redactor: &Arc<Redactor>) -> ModelError {
    let answer = answer(body, redactor);
    if let Err(error) = answer.object() {
        return error;
    }
    if let Some(reason) = body["promptFeedback"]["blockReason"].as_str() {
        return answer.failure(ModelFailureKind::BadRequest, &format!("the prompt was blocked ({reason})"));
    }
    answer.invalid(&format!("the answer is not a model response ({})", redactor.excerpt(cause, LONGEST)))
}

/// Returns the answer with this body. The crate keeps only the body of a successful response; its
/// status is known to be one of 2xx.
pub(super) fn success(body: String, redactor: &Arc<Redactor>) -> Answer {
    Answer {
        status: StatusCode::OK,
        headers: HeaderMap::new(),
        body: body.into_bytes(),
        redactor: Arc::clone(redactor),
        place: None,
    }
}
