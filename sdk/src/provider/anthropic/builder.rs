//! The configuration of [`Anthropic`], checked completely before the first call.

use std::{sync::Arc, time::Duration};

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use temporal_agents_core::{tool::BoxError, wire::error_debug};

use super::{Anthropic, KEY_HEADER, MessagesServer, Serves, VERSION, without_namespace};
use crate::provider::http::{
    address,
    redact::Redactor,
    server::{self, AddressAdvice, ClientError, InvalidHeader, add_header, header_secrets, variable_suffix},
    silence::SilenceOptions,
    transport::Transport,
};

const ANTHROPIC: &str = "https://api.anthropic.com";
/// The part of the address that is the version of the API.
const API_VERSION: &str = "/v1";
const DEFAULT_NAME: &str = "anthropic";
const API_KEY: &str = "ANTHROPIC_API_KEY";
const BASE_URL: &str = "ANTHROPIC_BASE_URL";
const ADVICE: AddressAdvice = AddressAdvice {
    in_full: "; write it in full, as https://api.anthropic.com",
    query: "; set query parameters in the model settings",
    credentials: "; set them as API key or header",
};

/// Describes an [`Anthropic`]; see [`Anthropic::builder`].
#[derive(Default)]
#[must_use]
pub struct AnthropicBuilder {
    api_key: Option<SecretString>,
    base_url: Option<String>,
    /// Name of the environment variable that `base_url` is from.
    base_url_variable: Option<&'static str>,
    headers: Vec<(String, SecretString)>,
    timeout: Option<Duration>,
    silence: SilenceOptions,
    serves: Option<Serves>,
    name: Option<String>,
}

/// The error of a provider's configuration. It is found when the worker starts, and never retried.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AnthropicConfigError {
    /// The environment contains no key.
    #[error(
        "ANTHROPIC_API_KEY is not set; set it in the worker's environment, or set a key with \
         `Anthropic::builder().api_key(..)`"
    )]
    KeyNotSet,
    /// No key is configured, or an empty one.
    #[error(
        "the API key is empty; set one with `api_key(..)` or ANTHROPIC_API_KEY (any value works for a server that \
         does not check it)"
    )]
    KeyEmpty,
    /// The address cannot be used.
    #[error("the base URL{}{} cannot be used: {reason}", address::quoted(.url.as_deref()), variable_suffix(*.variable))]
    BaseUrl {
        /// The address as it was configured; `None` if it may contain a secret.
        url: Option<String>,
        /// Name of the environment variable that contains the address; `None` if the program sets
        /// it.
        variable: Option<&'static str>,
        /// The reason that the address cannot be used.
        reason: String,
    },
    /// The header contains characters that are invalid in HTTP.
    #[error("the header {name:?} contains characters that are invalid in HTTP")]
    Header {
        /// Name of the header.
        name: String,
    },
    /// The platform's certificates could not be loaded.
    #[error("TLS could not be set up; check that the system's CA certificates are installed")]
    Tls {
        /// Underlying error.
        source: BoxError,
    },
    /// The HTTP client could not be built.
    #[error("the HTTP client could not be built")]
    HttpClient {
        /// Underlying error.
        source: BoxError,
    },
}

error_debug!(enum AnthropicConfigError {
    KeyNotSet,
    KeyEmpty,
    BaseUrl { url, variable, reason },
    Header { name },
    Tls { source },
    HttpClient { source },
});

impl From<InvalidHeader> for AnthropicConfigError {
    fn from(InvalidHeader(name): InvalidHeader) -> Self {
        Self::Header { name }
    }
}

impl From<ClientError> for AnthropicConfigError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Tls(source) => Self::Tls { source },
            ClientError::Build(source) => Self::HttpClient { source },
        }
    }
}

impl AnthropicBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Creates a builder with the configuration of the environment; see [`Anthropic::from_env`].
    /// Later calls of its methods replace that configuration.
    ///
    /// # Errors
    /// [`AnthropicConfigError`], if `ANTHROPIC_API_KEY` is not set or empty.
    #[expect(clippy::disallowed_methods, reason = "the worker's environment is what it is configured by")]
    pub fn from_env() -> Result<Self, AnthropicConfigError> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, AnthropicConfigError> {
        let key = variable(API_KEY).ok_or(AnthropicConfigError::KeyNotSet)?;
        if key.trim().is_empty() {
            return Err(AnthropicConfigError::KeyEmpty);
        }
        let base_url = variable(BASE_URL).filter(|value| !value.trim().is_empty());
        Ok(Self { base_url, base_url_variable: Some(BASE_URL), ..Self::new().api_key(key) })
    }

    /// Sets the key, which is required. White space around it is removed.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into().trim().to_owned().into());
        self
    }

    /// Sets the address before `/v1/messages`, as in Anthropic's own SDKs; a `/v1` at its end is
    /// accepted. Default `https://api.anthropic.com`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        (self.base_url, self.base_url_variable) = (Some(url.into()), None);
        self
    }

    /// Adds a header to every request, such as `anthropic-beta`, or one of a gateway. Its value is
    /// treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into().into()));
        self
    }

    /// Sets the request timeout. Defaults to the timeout of the model activity.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the maximum time from sending a streamed request until the first bytes of its answer
    /// arrive. By default it is 5 minutes, or half of
    /// [`ModelSettings::timeout`](temporal_agents_core::wire::ModelSettings::timeout) if that is longer: a
    /// reasoning model is silent for minutes, and an attempt has 10 minutes by default. The limit
    /// of the whole request, [`timeout`](Self::timeout), also holds. A call that exceeds it fails
    /// with [`ModelFailureKind::Timeout`](temporal_agents_core::wire::ModelFailureKind::Timeout) and is retried.
    pub fn first_chunk_timeout(mut self, timeout: Duration) -> Self {
        self.silence.first_chunk = Some(timeout);
        self
    }

    /// Sets the maximum time between two parts of a streamed answer, signs of life of the server
    /// included. Same default and failure as [`first_chunk_timeout`](Self::first_chunk_timeout).
    pub fn chunk_timeout(mut self, timeout: Duration) -> Self {
        self.silence.chunk = Some(timeout);
        self
    }

    /// Selects the model names that this provider serves, in place of [those it serves by
    /// itself](Anthropic#names). The worker queries its next provider for all others.
    pub fn serving(mut self, serves: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.serves = Some(Arc::new(serves));
        self
    }

    /// Sets the name of this provider in
    /// [`Destination::provider`](crate::worker::Destination::provider), which distinguishes several
    /// of them. Default `anthropic`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Creates the provider.
    ///
    /// # Errors
    /// [`AnthropicConfigError`], which names the part that is missing or cannot be used.
    pub fn build(self) -> Result<Anthropic, AnthropicConfigError> {
        let Self { api_key, base_url, base_url_variable, headers, timeout, silence, serves, name } = self;
        let key = api_key.filter(|key| !key.expose_secret().is_empty()).ok_or(AnthropicConfigError::KeyEmpty)?;
        let base =
            ADVICE.parse(base_url.as_deref().unwrap_or(ANTHROPIC)).map_err(|reason| AnthropicConfigError::BaseUrl {
                url: base_url.as_deref().and_then(address::unless_secret),
                variable: base_url_variable,
                reason,
            })?;
        let http = server::client(base.scheme() == "https", timeout)?;
        let mut base = base.as_str().trim_end_matches('/').to_owned();
        if !base.ends_with(API_VERSION) {
            base.push_str(API_VERSION);
        }
        let mut carried = messages_headers(key.expose_secret())?;
        for (name, value) in &headers {
            add_header(&mut carried, name, value.expose_secret())?;
        }
        let secrets = header_secrets(headers).chain([key]).collect();
        let messages_server = Arc::new(MessagesServer {
            transport: Transport::new(http, &base, carried, Redactor::new(secrets)),
            adapter: "anthropic".to_owned(),
            silence,
            refusals: Arc::default(),
            changes: Arc::default(),
        });
        let serves = serves.unwrap_or_else(|| Arc::new(|name| without_namespace(name).starts_with("claude")));
        let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        Ok(Anthropic { server: messages_server, serves, name })
    }
}

/// Returns the headers of every request with this key.
///
/// # Errors
/// The key is invalid in HTTP.
pub(in crate::provider) fn messages_headers(key: &str) -> Result<HeaderMap, InvalidHeader> {
    let mut headers = HeaderMap::new();
    add_header(&mut headers, KEY_HEADER, key)?;
    let (name, version) = VERSION;
    add_header(&mut headers, name, version)?;
    Ok(headers)
}

impl std::fmt::Debug for AnthropicBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { api_key: _, base_url: _, base_url_variable: _, headers, timeout, silence, serves: _, name: _ } =
            self;
        let headers: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("AnthropicBuilder")
            .field("headers", &headers)
            .field("timeout", timeout)
            .field("silence", silence)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
