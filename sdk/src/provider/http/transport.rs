//! One HTTP exchange: sends a body, and returns the server's response, whole or before its body is
//! read.
//!
//! A call is one request: nothing is retried, because Temporal retries, and no redirect is
//! followed (see `provider/http_client.rs`). Dropping the future closes the connection, because no
//! task is spawned.
//!
//! # Design
//! **reqwest and our own JSON, and no client of a provider.** Such clients have closed types for
//! requests, retry by themselves, drop headers that say when to retry, and log the bodies that they
//! cannot parse. What is left of them is one `POST`.

use std::sync::Arc;

use reqwest::{Client, Response, Url, header::HeaderMap};
use temporal_agents_core::wire::ModelFailureKind;

use super::{address, answer::Answer, body, classify, outgoing::Outgoing, redact::Redactor, refused_place};
use crate::provider::ModelError;

/// The connection to a server, with what all requests to it have in common.
pub(crate) struct Transport {
    http: Client,
    /// The address that all paths are below, without a slash at its end.
    base: String,
    /// Headers of every request; they include credentials, which are marked as sensitive.
    headers: HeaderMap,
    redactor: Arc<Redactor>,
    /// Address of the requests, without secrets, for logs and messages.
    address: String,
}

impl Transport {
    /// Creates the connection to the server at `base`, an absolute address.
    pub(crate) fn new(http: Client, base: &str, headers: HeaderMap, redactor: Redactor) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        let address = address::shown(&base, &redactor);
        Self { http, base, headers, redactor: Arc::new(redactor), address }
    }

    /// Returns the address of the requests, without secrets.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request to this path, and reads the whole response.
    ///
    /// # Errors
    /// No response, or a body that is too large. A response of any status is not an error.
    pub(crate) async fn exchange(&self, path: &str, outgoing: &Outgoing) -> Result<Answer, ModelError> {
        let response = self.send(path, outgoing).await?;
        self.whole(response, outgoing).await
    }

    /// Sends a request to this path, which begins with a slash; returns the response, of any status,
    /// before its body is read. Headers of the request replace the server's.
    ///
    /// # Errors
    /// The failure of a request that received no response.
    pub(crate) async fn send(&self, path: &str, outgoing: &Outgoing) -> Result<Response, ModelError> {
        let Outgoing { body, headers, query } = outgoing;
        let mut url = Url::parse(&format!("{}{path}", self.base)).map_err(|error| {
            ModelError::new(ModelFailureKind::Internal, format!("internal error: {error} in the address of a request"))
        })?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let mut all = self.headers.clone();
        all.extend(headers.clone());
        let request = self.http.post(url).headers(all).json(body);
        request.send().await.map_err(|error| self.unanswered(error))
    }

    /// Reads the body of a response; of an error, only its start, with what it says of the request.
    pub(crate) async fn whole(&self, response: Response, outgoing: &Outgoing) -> Result<Answer, ModelError> {
        let mut answer = self.head(&response);
        if !answer.status.is_success() {
            answer.body = body::read_error_body(response).await;
            if answer.is_refused_for_form() {
                answer.place = refused_place::describe(&outgoing.body, &answer.text());
            }
            return Ok(answer);
        }
        match body::whole(response).await.map_err(|error| self.unanswered(error))? {
            Some(body) => Ok(Answer { body, ..answer }),
            None => Err(answer.too_large()),
        }
    }

    /// Returns status and headers of a response, with an empty body.
    pub(crate) fn head(&self, response: &Response) -> Answer {
        Answer {
            status: response.status(),
            headers: response.headers().clone(),
            body: Vec::new(),
            redactor: Arc::clone(&self.redactor),
            place: None,
        }
    }

    /// Returns the failure of a request that received no response, or only a part of one.
    pub(crate) fn unanswered(&self, error: reqwest::Error) -> ModelError {
        classify::unanswered(error, &self.address, &self.redactor)
    }
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { http: _, base: _, headers, redactor: _, address } = self;
        let headers: Vec<&str> = headers.keys().map(reqwest::header::HeaderName::as_str).collect();
        f.debug_struct("Transport").field("address", address).field("headers", &headers).finish_non_exhaustive()
    }
}
