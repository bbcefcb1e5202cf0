//! The two traits that a provider implements, and their error.
//!
//! # Design
//! **A response that is not valid is requested five times in all.** A broken body may be a
//! temporary fault of a gateway; an HTML page from a wrong base URL is not corrected by six hours
//! of retries that may be billed.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use temporal_agents_core::{
    tool::BoxError,
    wire::{ModelCall, ModelFailureKind, ModelResponse, error_debug},
};

use super::deltas::ModelDeltas;

/// The maximum number of attempts at a call whose response is invalid or failed: six hours of
/// retries do not correct a wrong base URL.
const MAX_ATTEMPTS_AT_INVALID_RESPONSE: u32 = 5;
/// The longest pause that a provider may request. It is above the limit of a whole call (6 h by
/// default), which a longer pause fails. For an activity without such a limit, a `retry-after` that
/// is a mistake or an attack would otherwise stop the run for good without an error.
const MAX_RETRY_AFTER: Duration = Duration::from_hours(24);

/// A model that answers calls.
///
/// One call is one request to a provider. A model does not retry, since Temporal does.
pub trait Model: Send + Sync {
    /// Makes a call. Dropping the future, as when the run is cancelled, aborts the request.
    ///
    /// # Errors
    /// [`ModelError`], whose kind determines whether Temporal retries the call.
    fn call(&self, call: ModelCall) -> BoxFuture<'_, Result<ModelResponse, ModelError>>;

    /// Makes a call, and sends parts of the answer while they arrive. By default it makes the call
    /// without sending any.
    ///
    /// The response is the one that [`call`](Self::call) returns for the same answer: the same
    /// items and the same usage. A model that cannot promise this for a call makes it without
    /// streaming. A stream that ends early is an error, never a part of an answer. Each attempt
    /// sends its parts from the beginning.
    ///
    /// # Errors
    /// [`ModelError`], whose kind determines whether Temporal retries the call, as for
    /// [`call`](Self::call).
    fn stream(&self, call: ModelCall, deltas: ModelDeltas) -> BoxFuture<'_, Result<ModelResponse, ModelError>> {
        let _ = deltas;
        self.call(call)
    }
}

/// A source of models.
pub trait ModelProvider: Send + Sync {
    /// Returns the model of this name; `None` when this provider does not serve it and the next
    /// provider is to be queried.
    ///
    /// # Errors
    /// [`ModelError`], for example when credentials cannot be fetched.
    fn model<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, ModelError>>;

    /// Returns the name that identifies this provider in
    /// [`Destination::provider`](crate::worker::Destination::provider). Default `None`: without a
    /// name, the provider receives only values of environment variables that are allowed for any
    /// destination.
    fn name(&self) -> Option<&str> {
        None
    }
}

/// The failure of a model call.
///
/// # Retries
/// [`retryable`](Self::retryable) decides if it is set; otherwise the kind decides
/// ([`ModelFailureKind::retryable`]).
#[derive(thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ModelError {
    /// Kind of the failure.
    pub kind: ModelFailureKind,
    /// Description of the failure. It is recorded in history, so it contains no credentials and at
    /// most a short excerpt of a body.
    pub message: String,
    /// HTTP status, if there was a response.
    pub status: Option<u16>,
    /// Error code of the provider.
    pub code: Option<String>,
    /// The provider's id of the HTTP request.
    pub request_id: Option<String>,
    /// The pause before the next attempt that the provider requested.
    pub retry_after: Option<Duration>,
    /// Overrides the retry decision of the kind, as the provider's `x-should-retry` does; `None`
    /// leaves the decision to the kind.
    pub retryable: Option<bool>,
    /// Boxed, because the error is already as large as that of a `Result` should be.
    pub(crate) address: Option<Box<Address>>,
    /// Underlying error.
    #[source]
    pub source: Option<BoxError>,
}

error_debug!(struct ModelError { kind, message, status, code, request_id, retry_after, retryable, address, source });

/// The address at which a provider was called.
#[derive(Debug)]
pub(crate) struct Address(String);

impl ModelError {
    /// Creates a failure of this kind.
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

    /// Sets the HTTP status of the response.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the error code of the provider.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the provider's id of the HTTP request.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// Sets the pause before the next attempt that the provider requested.
    #[must_use]
    pub fn retry_after(mut self, pause: Duration) -> Self {
        self.retry_after = Some(pause);
        self
    }

    /// Overrides the retry decision of the kind: with `true`, Temporal retries the call; with
    /// `false`, the call fails.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = Some(retryable);
        self
    }

    /// Sets the underlying error.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Sets the address at which the provider was called. It is logged with each failed attempt:
    /// pass it without user, password, query and secrets.
    #[must_use]
    pub fn at(mut self, address: impl Into<String>) -> Self {
        self.address = Some(Box::new(Address(address.into())));
        self
    }

    /// Returns the address at which the provider was called, as passed to [`at`](Self::at).
    pub fn address(&self) -> Option<&str> {
        self.address.as_deref().map(|Address(address)| &**address)
    }

    /// Returns `true` if Temporal should retry the call.
    pub fn should_retry(&self) -> bool {
        self.retryable.unwrap_or_else(|| self.kind.retryable())
    }

    /// Returns `true` if an attempt after this one, counted from 1, may succeed.
    pub(crate) fn may_pass(&self, attempt: u32) -> bool {
        let is_nonsense = matches!(self.kind, ModelFailureKind::InvalidResponse | ModelFailureKind::ResponseFailed);
        self.should_retry() && !(is_nonsense && attempt >= MAX_ATTEMPTS_AT_INVALID_RESPONSE)
    }

    /// Returns the pause that the provider requests before the next attempt, up to a limit; `None`
    /// if it requests none.
    pub(crate) fn requested_pause(&self) -> Option<Duration> {
        let pause = self.retry_after.filter(|pause| !pause.is_zero());
        pause.map(|pause| pause.min(MAX_RETRY_AFTER))
    }
}
