//! One HTTP exchange through async-openai: sends our body, and returns the provider's response,
//! whole or before its body is read.
//!
//! async-openai retries by default, drops headers, and logs the whole body of a response that it
//! cannot parse. So it is configured with a service that executes a request exactly once and
//! returns *every* response, even a successful one, as an error, because async-openai passes errors
//! through unchanged. The body is read outside of the service, whole or as a stream. Dropping the
//! future closes the connection, because no task is spawned.
//!
//! # Design
//! **async-openai is used as transport only.** Its request types are closed, it retries by itself,
//! and it drops headers; Temporal performs retries. So it receives our JSON and a service that
//! sends each request exactly once.

use std::sync::Arc;

use async_openai::{Client, error::OpenAIError, middleware::HttpRequestFactory, traits::RequestOptionsBuilder};
use reqwest::Response;
use serde::de::IgnoredAny;

use super::{OpenAiApi, endpoint::Endpoint};
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
            let http = http.clone();
            tower::service_fn(move |request| exchange(http.clone(), request))
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

    /// Sends a request, and reads the whole response; `model` is the provider's name for the model.
    pub(super) async fn exchange(
        &self,
        api: OpenAiApi,
        model: &str,
        mut outgoing: Outgoing,
    ) -> Result<Answer, ModelError> {
        // The servers refuse the options of a stream outside of one.
        outgoing.body.shift_remove("stream_options");
        let response = self.send(api, model, &outgoing).await?;
        self.whole(response).await
    }

    /// Sends a request; returns the response, of any status, before its body is read.
    pub(super) async fn send(&self, api: OpenAiApi, model: &str, outgoing: &Outgoing) -> Result<Response, ModelError> {
        let Outgoing { body, headers, query } = outgoing;
        let outcome = match api {
            OpenAiApi::Responses => {
                let request = self.client.responses().headers(headers.clone()).query(query);
                request.map_err(|error| self.failure(error))?.create_byot::<_, IgnoredAny>(body).await
            }
            OpenAiApi::ChatCompletions => {
                let path = self.client.config().chat_completions(model);
                let request = self.client.chat().headers(headers.clone()).path(path).and_then(|chat| chat.query(query));
                request.map_err(|error| self.failure(error))?.create_byot::<_, IgnoredAny>(body).await
            }
        };
        match outcome {
            Err(OpenAIError::Boxed(response)) => {
                let response = response.downcast::<Unread>().map_err(|error| self.internal(&*error))?;
                Ok(response.0)
            }
            Err(error) => Err(self.failure(error)),
            Ok(IgnoredAny) => Err(ModelError::new(ModelFailureKind::Internal, "internal error: a response was lost")),
        }
    }

    /// Reads the body of a response; of an error, only its start.
    pub(super) async fn whole(&self, response: Response) -> Result<Answer, ModelError> {
        let mut answer = self.head(&response);
        if !answer.status.is_success() {
            answer.body = body::read_error_body(response).await;
            return Ok(answer);
        }
        match body::whole(response).await.map_err(|error| self.unanswered(error))? {
            Some(body) => Ok(Answer { body, ..answer }),
            None => Err(answer.too_large()),
        }
    }

    /// Returns status and headers of a response, with an empty body.
    pub(super) fn head(&self, response: &Response) -> Answer {
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: Vec::new(),
            redactor: Arc::clone(&self.redactor),
        }
    }

    /// Returns the failure of a request that received no response, or only a part of one.
    pub(super) fn unanswered(&self, error: reqwest::Error) -> ModelError {
        classify::unanswered(error, &self.address, &self.redactor)
    }

    fn failure(&self, error: OpenAIError) -> ModelError {
        match error {
            OpenAIError::Reqwest(error) => self.unanswered(error),
            error => self.internal(&error),
        }
    }

    fn internal(&self, error: &dyn std::error::Error) -> ModelError {
        let message = format!("internal error: {}", self.redactor.excerpt(&error.to_string(), 200));
        ModelError::new(ModelFailureKind::Internal, message)
    }
}

/// Executes a request once; the response is the error, see the module documentation.
async fn exchange(http: reqwest::Client, request: HttpRequestFactory) -> Result<Response, OpenAIError> {
    let response = http.execute(request.build().await?).await?;
    Err(OpenAIError::Boxed(Box::new(Unread(response))))
}

/// A response whose body is not yet read. Its address may contain credentials, so `Debug` shows the
/// status only.
#[derive(thiserror::Error)]
#[error("a response whose body is not yet read")]
struct Unread(Response);

impl std::fmt::Debug for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unread").field("status", &self.0.status()).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("endpoint", self.client.config()).finish_non_exhaustive()
    }
}
