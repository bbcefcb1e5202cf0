//! The two traits a provider implements, and what it fails with.
//!
//! # Design
//! **An answer that is not a valid response is requested five times.** A broken body may be a
//! temporary fault of a gateway; an HTML page from a wrong base URL is not healed by six hours of
//! retries that may be billed.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;

use crate::wire::{ModelCall, ModelFailureKind, ModelResponse, error_debug};

/// How often an answer that makes no sense is asked for again: a wrong base URL is not healed by six hours of retries.
const ATTEMPTS_AT_NONSENSE: u32 = 5;
/// The longest pause that a provider may ask for. It is above the limit of a whole call (6 h by default), which a longer pause fails; where an
/// activity has no such limit, a `retry-after` that is a mistake or an attack would be the end of the run without anybody hearing of it.
const LONGEST_RETRY_AFTER: Duration = Duration::from_hours(24);

/// A model that answers calls.
///
/// One call is one request to a provider: no retries of its own, Temporal owns them.
pub trait Model: Send + Sync {
    /// Answers a call. Dropping the future gives the request up (the run was cancelled).
    ///
    /// # Errors
    /// [`ModelError`], whose kind decides whether Temporal tries again.
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>>;
}

/// Where models come from.
pub trait ModelProvider: Send + Sync {
    /// The model of this name; `None` when this provider does not serve it and the next one is to be asked.
    ///
    /// # Errors
    /// [`ModelError`], for example when credentials cannot be fetched.
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>>;

    /// The name by which [`Destination::provider`](crate::worker::Destination::provider) knows this provider. Without one, which is the default, it gets
    /// values of environment variables only that may go anywhere.
    fn name(&self) -> Option<&str> {
        None
    }
}

/// The failure of a model call.
///
/// # Retries
/// As [`retryable`](Self::retryable) says; else as the kind says ([`ModelFailureKind::retryable`]).
#[derive(thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// What kind of failure.
    pub kind: ModelFailureKind,
    /// What happened; recorded in history, so it holds no credential and no more than a short excerpt of a body.
    pub message: String,
    /// The HTTP status, where there was a response.
    pub status: Option<u16>,
    /// The provider's own error code.
    pub code: Option<String>,
    /// The provider's id of the HTTP request.
    pub request_id: Option<String>,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// Whether the provider said to try again (`x-should-retry`).
    pub retryable: Option<bool>,
    /// Boxed: the error is as large as a `Result` should be.
    pub(crate) address: Option<Box<Address>>,
    /// What it came from.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

error_debug!(struct ModelError { kind, message, status, code, request_id, retry_after, retryable, address, source });

/// Where a provider was called.
#[derive(Debug)]
pub(crate) struct Address(String);

impl ModelError {
    /// A failure of this kind.
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            code: None,
            request_id: None,
            retry_after: None,
            retryable: None,
            address: None,
            source: None,
        }
    }

    /// The same failure with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the address at which the provider was called. It is logged with each failed attempt: pass it without user, password,
    /// query and secrets.
    #[must_use]
    pub fn at(mut self, address: impl Into<String>) -> Self {
        self.address = Some(Box::new(Address(address.into())));
        self
    }

    /// The address at which the provider was called, as passed to [`at`](Self::at).
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref().map(|Address(address)| &**address)
    }

    /// Whether Temporal is to try again.
    pub fn should_retry(&self) -> bool {
        self.retryable.unwrap_or_else(|| self.kind.retryable())
    }

    /// Whether an attempt after this one, counted from 1, may succeed.
    pub(crate) fn may_pass(&self, attempt: u32) -> bool {
        let is_nonsense = matches!(self.kind, ModelFailureKind::InvalidResponse | ModelFailureKind::ResponseFailed);
        self.should_retry() && !(is_nonsense && attempt >= ATTEMPTS_AT_NONSENSE)
    }

    /// The pause that the provider asks for before the next attempt, where it asks for one.
    pub(crate) fn pause_asked_for(&self) -> Option<Duration> {
        let pause = self.retry_after.filter(|pause| !pause.is_zero());
        pause.map(|pause| pause.min(LONGEST_RETRY_AFTER))
    }
}
