//! The target of requests and the parts that all of them share: address, credentials, default
//! headers.
//!
//! It is an implementation of [`Config`] of its own, because those of async-openai panic on a key
//! that is not a valid header value, and place Azure's Responses API at a wrong address.

use async_openai::config::Config;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

use super::azure::Azure;

/// An address with its credentials.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// The base URL, without a slash at its end.
    pub(super) base: String,
    /// Headers of every request; they include credentials, which are marked as sensitive.
    pub(super) headers: HeaderMap,
    /// Set for Azure, whose addresses have another form.
    pub(super) azure: Option<Azure>,
    pub(super) key: SecretString,
}

impl Endpoint {
    /// Returns the server's name for the model.
    pub(super) fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.azure.as_ref().map_or(name, |azure| azure.deployment_of(name))
    }

    /// Returns the path of Chat Completions for this model, relative to the base.
    pub(super) fn chat_completions(&self, name: &str) -> String {
        match &self.azure {
            None => "/chat/completions".to_owned(),
            Some(azure) => azure.chat_completions(name),
        }
    }
}

impl Config for Endpoint {
    fn headers(&self) -> HeaderMap {
        self.headers.clone()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        self.azure.iter().map(|azure| ("api-version", azure.api_version())).collect()
    }

    fn api_base(&self) -> &str {
        &self.base
    }

    fn api_key(&self) -> &SecretString {
        &self.key
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { base, headers, azure, key: _ } = self;
        let headers: Vec<&str> = headers.keys().map(reqwest::header::HeaderName::as_str).collect();
        f.debug_struct("Endpoint")
            .field("base", base)
            .field("headers", &headers)
            .field("azure", azure)
            .finish_non_exhaustive()
    }
}
