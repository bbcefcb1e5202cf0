//! From a failed exchange to the kind of failure that determines Temporal's retries.

use reqwest::StatusCode;
use serde_json::{Map, Value};
use temporal_agents_core::wire::ModelFailureKind;

use super::redact::Redactor;
use crate::provider::ModelError;

/// Returns the kind of failure that a status represents; 400 and 404 are further distinguished by
/// the provider's code.
pub(crate) fn kind(status: StatusCode, code: Option<&str>) -> ModelFailureKind {
    match status.as_u16() {
        // Another call holds the conversation for a moment; the Agents SDK also retries this.
        400 if code == Some("conversation_locked") => ModelFailureKind::Conflict,
        400 | 404 if matches!(code, Some("previous_response_not_found" | "conversation_not_found")) => {
            ModelFailureKind::ConversationNotFound
        }
        401 => ModelFailureKind::Authentication,
        403 => ModelFailureKind::PermissionDenied,
        404 => ModelFailureKind::NotFound,
        408 => ModelFailureKind::Timeout,
        409 => ModelFailureKind::Conflict,
        413 => ModelFailureKind::RequestTooLarge,
        429 => ModelFailureKind::RateLimit,
        500.. => ModelFailureKind::ServerError,
        _ => ModelFailureKind::BadRequest,
    }
}

/// Phrases that report a conversation longer than the model's context.
///
/// Servers without a code use them: Anthropic, Google, OpenAI and its imitators.
const OVERFLOW_PHRASES: [&str; 5] = [
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "maximum context length",
    "context length exceeded",
    "exceeds the context window",
];

/// Returns the start of the message of a failure of this kind.
pub(crate) fn label(kind: ModelFailureKind) -> &'static str {
    match kind {
        ModelFailureKind::RateLimit => "rate limited",
        ModelFailureKind::Authentication => "authentication failed",
        ModelFailureKind::PermissionDenied => "permission denied",
        ModelFailureKind::BadRequest => "bad request",
        ModelFailureKind::NotFound => "not found",
        ModelFailureKind::ConversationNotFound => "the conversation is gone",
        ModelFailureKind::Timeout => "timed out",
        ModelFailureKind::Conflict => "conflict",
        ModelFailureKind::RequestTooLarge => "request too large",
        ModelFailureKind::ServerError => "server error",
        ModelFailureKind::Connection => "connection failed",
        ModelFailureKind::InvalidResponse => "invalid response",
        ModelFailureKind::ResponseTooLarge => "response too large",
        ModelFailureKind::ResponseFailed => "response failed",
        ModelFailureKind::UnknownModel => "unknown model",
        ModelFailureKind::Unsupported => "unsupported",
        ModelFailureKind::Internal => "internal error",
    }
}

/// Returns a failure of this kind without a response.
pub(crate) fn failure(kind: ModelFailureKind, what: &str) -> ModelError {
    ModelError::new(kind, format!("{}: {what}", label(kind)))
}

/// Returns the failure of a request to this address, as [`address::shown`](super::address::shown)
/// formats it, that received no response, or only a part of one.
pub(crate) fn unanswered(error: reqwest::Error, address: &str, redactor: &Redactor) -> ModelError {
    // The error's own address may contain credentials.
    let error = error.without_url();
    let kind = if error.is_builder() {
        ModelFailureKind::BadRequest
    } else if error.is_timeout() && !error.is_connect() {
        ModelFailureKind::Timeout
    } else {
        ModelFailureKind::Connection
    };
    let message = format!("{}: {} (at {address})", label(kind), redactor.clean(&root_cause(&error)));
    ModelError::new(kind, message).at(address).caused_by(error)
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// The error that a provider reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// Explanation of the error.
    pub(crate) message: Option<String>,
    /// Code of the error; a number, if the server uses numbers.
    pub(crate) code: Option<String>,
    /// Type of the error.
    pub(crate) r#type: Option<String>,
}

impl ProviderError {
    /// Reads the error in the body of a failed request, in the forms that OpenAI and compatible
    /// servers use: `{"error": {..}}`, `{"error": "text"}`, `{"message": ..}`, `{"detail": ..}`, or
    /// a list of one of them.
    pub(crate) fn in_failure(text: &str) -> Option<Self> {
        let body: Value = serde_json::from_str(text).ok()?;
        let body = match &body {
            Value::Array(bodies) => bodies.first()?,
            body => body,
        };
        let object = body.as_object()?;
        Some(Self::in_answer(object).unwrap_or_else(|| Self::of_object(object)))
    }

    /// Reads the `error` member of a response.
    pub(crate) fn in_answer(object: &Map<String, Value>) -> Option<Self> {
        match object.get("error")? {
            Value::Object(error) => Some(Self::of_object(error)),
            Value::String(message) => Some(Self { message: Some(message.clone()), ..Self::default() }),
            _ => None,
        }
    }

    fn of_object(error: &Map<String, Value>) -> Self {
        let text = |name| match error.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        // Google's errors have their name in `status`, beside a code that is a number.
        let status = || error.get("status").and_then(Value::as_str).map(str::to_owned);
        let r#type = text("type").or_else(status);
        Self { message: text("message").or_else(|| text("detail")), code: text("code"), r#type }
    }

    /// Returns the kind of failure of an unsuccessful status.
    pub(crate) fn kind_with_status(&self, status: StatusCode) -> ModelFailureKind {
        self.refine(kind(status, self.code.as_deref()))
    }

    /// Returns the kind of failure if the status does not determine it.
    ///
    /// The code determines it, which in some servers is a status, and otherwise the type.
    pub(crate) fn kind(&self) -> ModelFailureKind {
        self.refine(self.names().find_map(named).unwrap_or(ModelFailureKind::ResponseFailed))
    }

    /// Tells a conversation that is too long from other bad requests.
    fn refine(&self, kind: ModelFailureKind) -> ModelFailureKind {
        let is_too_long = || self.names().any(is_about_length) || self.says_overflow();
        if kind == ModelFailureKind::BadRequest && is_too_long() { ModelFailureKind::RequestTooLarge } else { kind }
    }

    fn says_overflow(&self) -> bool {
        let message = self.message.as_deref().unwrap_or_default().to_ascii_lowercase();
        OVERFLOW_PHRASES.iter().any(|phrase| message.contains(phrase))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        [self.code.as_deref(), self.r#type.as_deref()].into_iter().flatten()
    }

    /// Returns `Some(false)` if a retry cannot succeed: time corrects neither a used-up quota nor a
    /// wrong input. Otherwise returns `None`.
    pub(crate) fn retryable(&self) -> Option<bool> {
        let hopeless = self.names().any(|name| name == "insufficient_quota")
            || self.code.as_deref().is_some_and(|code| code.starts_with("invalid_") || is_about_an_image(code));
        hopeless.then_some(false)
    }
}

/// Returns the kind of failure that a code or a type represents: a name of OpenAI or of Anthropic,
/// or a status.
fn named(name: &str) -> Option<ModelFailureKind> {
    Some(match name {
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limit"
        | "rate_limited"
        | "rate_limit_reached"
        | "too_many_requests"
        | "insufficient_quota"
        | "requests"
        | "tokens"
        | "RESOURCE_EXHAUSTED" => ModelFailureKind::RateLimit,
        "server_error"
        | "api_error"
        | "overloaded_error"
        | "overloaded"
        | "server_overloaded"
        | "internal_error"
        | "internal_server_error"
        | "service_unavailable"
        | "service_unavailable_error"
        | "INTERNAL"
        | "UNAVAILABLE" => ModelFailureKind::ServerError,
        "invalid_request_error" | "INVALID_ARGUMENT" => ModelFailureKind::BadRequest,
        "request_too_large" => ModelFailureKind::RequestTooLarge,
        "authentication_error" => ModelFailureKind::Authentication,
        "permission_error" => ModelFailureKind::PermissionDenied,
        "timeout_error" | "timeout" | "DEADLINE_EXCEEDED" => ModelFailureKind::Timeout,
        name if is_about_length(name) => ModelFailureKind::RequestTooLarge,
        status => {
            let status = status.parse().ok().filter(|status| (400..600).contains(status))?;
            kind(StatusCode::from_u16(status).ok()?, None)
        }
    })
}

/// Returns `true` for codes of a conversation that is longer than the model's context: of OpenAI and
/// many servers, and of llama.cpp.
fn is_about_length(code: &str) -> bool {
    matches!(code, "context_length_exceeded" | "exceed_context_size_error")
}

/// Returns `true` for codes such as `image_too_large`, `empty_image_file`,
/// `unsupported_image_media_type`: the input is wrong, and remains wrong.
fn is_about_an_image(code: &str) -> bool {
    code.contains("image") && !code.starts_with("failed_to_download")
}
