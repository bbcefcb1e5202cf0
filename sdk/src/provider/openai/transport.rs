//! One HTTP exchange through async-openai: sends our body, and returns the provider's complete
//! response.
//!
//! async-openai retries by default, drops headers, and logs the whole body of a response that it
//! cannot parse. So it is configured with a service that executes a request exactly once and
//! returns *every* response, even a successful one, as an error, because async-openai passes errors
//! through unchanged. Dropping the future closes the connection, because no task is spawned.
//!
//! # Design
//! **async-openai is used as transport only.** Its request types are closed, it retries by itself,
//! and it drops headers; Temporal performs retries. So it receives our JSON and a service that
//! sends each request exactly once.

use std::sync::Arc;

use async_openai::{Client, error::OpenAIError, middleware::HttpRequestFactory, traits::RequestOptionsBuilder};
use serde::de::IgnoredAny;

use super::endpoint::Endpoint;
use crate::{
    provider::{
        ModelError,
        http::{address, answer::Answer, body, classify, outgoing::Outgoing, redact::Redactor},
    },
    wire::ModelFailureKind,
};

/// The connection to a provider.
pub(super) struct Transport {
    client: Client<Endpoint>,
    redactor: Arc<Redactor>,
    /// Address of the requests, without secrets, for logs and messages.
    address: String,
}

impl Transport {
    pub(super) fn new(http: reqwest::Client, endpoint: Endpoint, redactor: Redactor) -> Self {
        let address = address::shown(&endpoint.base, &redactor);
        let redactor = Arc::new(redactor);
        let service = {
            let (http, redactor) = (http.clone(), Arc::clone(&redactor));
            tower::service_fn(move |request| exchange(http.clone(), request, Arc::clone(&redactor)))
        };
        Self { client: Client::build(http, endpoint).with_http_service(service), redactor, address }
    }

    /// Returns the address of the requests, without secrets.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the server's name for the model.
    pub(super) fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.client.config().model(name)
    }

    /// Sends a request to the Responses API.
    pub(super) async fn responses(&self, outgoing: Outgoing) -> Result<Answer, ModelError> {
        let Outgoing { body, headers, query } = outgoing;
        let request = self.client.responses().headers(headers).query(&query).map_err(|error| self.failure(error))?;
        self.answer(request.create_byot::<_, IgnoredAny>(body).await)
    }

    /// Sends a request to Chat Completions.
    pub(super) async fn chat_completions(&self, model: &str, outgoing: Outgoing) -> Result<Answer, ModelError> {
        let Outgoing { body, headers, query } = outgoing;
        let chat = self.client.chat().headers(headers);
        let request = chat
            .path(self.client.config().chat_completions(model))
            .and_then(|chat| chat.query(&query))
            .map_err(|error| self.failure(error))?;
        self.answer(request.create_byot::<_, IgnoredAny>(body).await)
    }

    /// Extracts the response that [`exchange`] returned as an error.
    fn answer(&self, outcome: Result<IgnoredAny, OpenAIError>) -> Result<Answer, ModelError> {
        match outcome {
            Err(OpenAIError::Boxed(answer)) => {
                let answer = answer.downcast::<Answer>().map(|answer| *answer);
                answer.map_err(|error| match error.downcast::<Oversized>() {
                    Ok(oversized) => oversized.0.too_large(),
                    Err(error) => self.internal(&*error),
                })
            }
            Err(error) => Err(self.failure(error)),
            Ok(IgnoredAny) => Err(ModelError::new(ModelFailureKind::Internal, "internal error: a response was lost")),
        }
    }

    fn failure(&self, error: OpenAIError) -> ModelError {
        match error {
            OpenAIError::Reqwest(error) => classify::unanswered(error, &self.address, &self.redactor),
            error => self.internal(&error),
        }
    }

    fn internal(&self, error: &dyn std::error::Error) -> ModelError {
        let message = format!("internal error: {}", self.redactor.excerpt(&error.to_string(), 200));
        ModelError::new(ModelFailureKind::Internal, message)
    }
}

/// Executes a request once; the response is the error, see the module documentation.
async fn exchange(
    http: reqwest::Client,
    request: HttpRequestFactory,
    redactor: Arc<Redactor>,
) -> Result<reqwest::Response, OpenAIError> {
    let response = http.execute(request.build().await?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    // The whole body is needed only of a success.
    let body =
        if status.is_success() { body::whole(response).await? } else { Some(body::read_error_body(response).await) };
    let answer = |body| Answer { status, headers, body, redactor };
    Err(OpenAIError::Boxed(match body {
        Some(body) => Box::new(answer(body)),
        None => Box::new(Oversized(answer(Vec::new()))),
    }))
}

/// A response whose body is over the limit; the body is left out here.
#[derive(Debug, thiserror::Error)]
#[error("the body of an answer is over the limit")]
struct Oversized(Answer);

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("endpoint", self.client.config()).finish_non_exhaustive()
    }
}
