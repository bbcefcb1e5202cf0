//! A provider's complete response to one HTTP request: status, headers and body. Nothing of it is
//! lost, and nothing logged.
//!
//! It is converted to the JSON object of a successful response, or to the failure that it
//! represents. Bodies contain the user's data, so `Debug` and `Display` show the status only.

use std::{sync::Arc, time::SystemTime};

use reqwest::{StatusCode, header::HeaderMap};
use serde_json::{Map, Value};
use temporal_agents_core::wire::ModelFailureKind;

use super::{
    advice::Advice,
    body::MOST_BYTES,
    classify::{self, ProviderError},
    redact::Redactor,
};
use crate::provider::ModelError;

/// The maximum length of the excerpt of a body in a message, in characters.
const EXCERPT: usize = 200;
/// The maximum length of a provider's own error message, in characters.
const MAX_MESSAGE_CHARS: usize = 1000;

/// The response of a provider.
#[derive(thiserror::Error)]
#[error("the provider answered {status}")]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) redactor: Arc<Redactor>,
    /// What is at the place in the request that an unsuccessful response names.
    pub(crate) place: Option<String>,
}

impl Answer {
    /// Returns the JSON object of a successful response.
    ///
    /// # Errors
    /// The failure of any other status; [`ModelFailureKind::InvalidResponse`] if the body is not a
    /// JSON object; the error in the body, for servers that report failures with status 200.
    pub(crate) fn object(&self) -> Result<Map<String, Value>, ModelError> {
        if !self.status.is_success() {
            return Err(self.status_failure());
        }
        let text = self.text();
        if text.trim().is_empty() {
            return Err(self.failure(ModelFailureKind::InvalidResponse, "the body is empty"));
        }
        match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => match ProviderError::in_answer(&object) {
                Some(error) => Err(self.reported(error)),
                None => Ok(object),
            },
            Ok(_) => Err(self.invalid("the body is not a JSON object")),
            Err(_) => Err(self.invalid("the body is not JSON")),
        }
    }

    /// Returns the failure of a body that is not what the API promises; quotes the start of the
    /// body.
    pub(crate) fn invalid(&self, what: &str) -> ModelError {
        let excerpt = self.redactor.excerpt(&self.text(), EXCERPT);
        self.failure(ModelFailureKind::InvalidResponse, &format!("{what}: {excerpt}"))
    }

    /// Returns the failure of a body that is over the limit. The provider's advice to retry is
    /// ignored.
    pub(crate) fn too_large(&self) -> ModelError {
        self.over(MOST_BYTES)
    }

    /// Returns the failure of a body that is over this limit, in bytes; see
    /// [`too_large`](Self::too_large).
    pub(crate) fn over(&self, limit: usize) -> ModelError {
        let limit = limit / (1024 * 1024);
        let what = format!("the body is over the limit of {limit} MiB; it is not requested again");
        let mut error = self.failure(ModelFailureKind::ResponseTooLarge, &what);
        error.retryable = Some(false);
        error
    }

    /// Returns a failure of this kind with the status and the advice of the response.
    pub(crate) fn failure(&self, kind: ModelFailureKind, what: &str) -> ModelError {
        let label = classify::label(kind);
        let status = self.status.as_u16();
        let message = match self.redactor.excerpt(what, MAX_MESSAGE_CHARS) {
            what if what.is_empty() => format!("{label} ({status})"),
            what => format!("{label} ({status}): {what}"),
        };
        let mut error = ModelError::new(kind, message);
        error.status = Some(status);
        self.advice().give(&mut error);
        error
    }

    /// Returns the provider's id of the request.
    pub(crate) fn request_id(&self) -> Option<String> {
        self.advice().request_id
    }

    #[expect(clippy::disallowed_methods, reason = "the worker's clock: a retry-after may be a date")]
    fn advice(&self) -> Advice {
        Advice::in_headers(&self.headers, SystemTime::now())
    }

    /// Returns the failure that an unsuccessful status represents.
    pub(crate) fn status_failure(&self) -> ModelError {
        let text = self.text();
        let error = ProviderError::in_failure(&text).unwrap_or_default();
        let kind = error.kind_with_status(self.status);
        let what = match &error.message {
            Some(message) => message.clone(),
            None if self.status.is_redirection() => "the provider redirects; configure its final address".to_owned(),
            None => self.redactor.excerpt(&text, EXCERPT),
        };
        let mut failure = self.with_error(self.failure(kind, &what), error);
        if let Some(place) = &self.place {
            failure.message = format!("{} ({})", failure.message, self.redactor.excerpt(place, EXCERPT));
        }
        failure
    }

    /// Returns `true` if the provider refuses the request for its form.
    pub(crate) fn is_refused_for_form(&self) -> bool {
        matches!(self.status.as_u16(), 400 | 404 | 422)
    }

    /// Returns the failure with the type of the reported error as its code, if it has no code:
    /// Anthropic has no codes.
    #[cfg(feature = "anthropic")]
    pub(crate) fn with_type(&self, mut failure: ModelError) -> ModelError {
        let text = self.text();
        let error = if self.status.is_success() {
            serde_json::from_str(&text).ok().as_ref().and_then(ProviderError::in_answer)
        } else {
            ProviderError::in_failure(&text)
        };
        let name = error.and_then(|error| error.r#type);
        failure.code = failure.code.or_else(|| Some(self.redactor.excerpt(&name?, EXCERPT)));
        failure
    }

    /// Returns the failure of an error inside the body of a successful response.
    pub(crate) fn reported(&self, error: ProviderError) -> ModelError {
        let what = error.message.clone().unwrap_or_else(|| "the provider reports an error".to_owned());
        self.with_error(self.failure(error.kind(), &what), error)
    }

    fn with_error(&self, mut failure: ModelError, error: ProviderError) -> ModelError {
        failure.retryable = failure.retryable.or(error.retryable());
        failure.code = error.code.map(|code| self.redactor.excerpt(&code, EXCERPT));
        failure
    }

    pub(crate) fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
