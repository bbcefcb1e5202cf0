//! Where requests go and what every one of them carries: address, credentials, default headers.
//!
//! An own [`Config`] because async-openai's panic on a key that is no header value, and put Azure's Responses API at
//! an address where it is not.

use async_openai::config::Config;
use reqwest::header::HeaderMap;
use secrecy::SecretString;

use super::azure::Azure;

/// An address with its credentials.
#[derive(Clone)]
pub(super) struct Endpoint {
    /// Without a slash at its end.
    pub(super) base: String,
    /// Credentials among them, marked sensitive.
    pub(super) headers: HeaderMap,
    /// Set for Azure, whose addresses have a form of their own.
    pub(super) azure: Option<Azure>,
    pub(super) key: SecretString,
}

impl Endpoint {
    /// The name the server knows the model by.
    pub(super) fn model<'a>(&'a self, name: &'a str) -> &'a str {
        self.azure.as_ref().map_or(name, |azure| azure.deployment_of(name))
    }

    /// The path of Chat Completions for this model, after the base.
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
