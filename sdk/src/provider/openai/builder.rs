//! The configuration of [`OpenAi`], checked completely before the first call.

use std::{sync::Arc, time::Duration};

use reqwest::{
    Url,
    header::{AUTHORIZATION, HeaderMap},
};
use secrecy::{ExposeSecret, SecretString};
use temporal_agents_core::{tool::BoxError, wire::error_debug};

use super::{Azure, OpenAi, OpenAiApi, Preparation, Serves, endpoint::Endpoint};
use crate::provider::{
    api_rules::{AZURE_CHAT_COMPLETIONS, AZURE_RESPONSES, ApiRules, CHAT_COMPLETIONS, ChangeLog, RESPONSES, XAI},
    http::{
        address,
        redact::Redactor,
        server::{self, AddressAdvice, ClientError, InvalidHeader, add_header, header_secrets, variable_suffix},
        silence::SilenceOptions,
        transport::Transport,
    },
};

const OPENAI: &str = "https://api.openai.com/v1";
const DEFAULT_NAME: &str = "openai";

/// Describes an [`OpenAi`]; see [`OpenAi::builder`].
#[derive(Default)]
#[must_use]
pub struct OpenAiBuilder {
    api_key: Option<SecretString>,
    base_url: Option<String>,
    /// Name of the environment variable that `base_url` is from.
    base_url_variable: Option<&'static str>,
    organization: Option<String>,
    project: Option<String>,
    azure: Option<Azure>,
    headers: Vec<(String, SecretString)>,
    timeout: Option<Duration>,
    silence: SilenceOptions,
    api: OpenAiApi,
    serves: Option<Serves>,
    name: Option<String>,
    keeps_empty_reasoning: bool,
}

/// The error of a provider's configuration. It is found when the worker starts, and never retried.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum OpenAiConfigError {
    /// The environment contains no key.
    #[error(
        "OPENAI_API_KEY is not set; set it in the worker's environment, or set a key with \
         `OpenAi::builder().api_key(..)`"
    )]
    KeyNotSet,
    /// No key is configured, or an empty one.
    #[error(
        "the API key is empty; set one with `api_key(..)` or OPENAI_API_KEY (any value works for a server that does \
         not check it)"
    )]
    KeyEmpty,
    /// The address cannot be used.
    #[error("the base URL{}{} cannot be used: {reason}", address::quoted(.url.as_deref()), variable_suffix(*.variable))]
    BaseUrl {
        /// The address as it was configured; `None` if there is none, or if it may contain a
        /// secret.
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

error_debug!(enum OpenAiConfigError {
    KeyNotSet,
    KeyEmpty,
    BaseUrl { url, variable, reason },
    Header { name },
    Tls { source },
    HttpClient { source },
});

const ADVICE: AddressAdvice = AddressAdvice {
    in_full: "; write it in full, as https://api.openai.com/v1",
    query: "; set query parameters in the model settings",
    credentials: "; set them as API key or header",
};

/// Name of the environment variable of the address.
const BASE_URL: &str = "OPENAI_BASE_URL";

impl From<InvalidHeader> for OpenAiConfigError {
    fn from(InvalidHeader(name): InvalidHeader) -> Self {
        Self::Header { name }
    }
}

impl From<ClientError> for OpenAiConfigError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Tls(source) => Self::Tls { source },
            ClientError::Build(source) => Self::HttpClient { source },
        }
    }
}

impl OpenAiBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Creates a builder with the configuration of the environment; see [`OpenAi::from_env`]. Later
    /// calls of its methods replace that configuration.
    ///
    /// # Errors
    /// [`OpenAiConfigError`], if `OPENAI_API_KEY` is not set or empty.
    #[expect(clippy::disallowed_methods, reason = "the worker's environment is what it is configured by")]
    pub fn from_env() -> Result<Self, OpenAiConfigError> {
        Self::from_variables(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, OpenAiConfigError> {
        let optional = |name| variable(name).filter(|value| !value.trim().is_empty());
        let key = variable("OPENAI_API_KEY").ok_or(OpenAiConfigError::KeyNotSet)?;
        if key.trim().is_empty() {
            return Err(OpenAiConfigError::KeyEmpty);
        }
        Ok(Self {
            base_url: optional(BASE_URL),
            base_url_variable: Some(BASE_URL),
            organization: optional("OPENAI_ORG_ID"),
            project: optional("OPENAI_PROJECT_ID"),
            ..Self::new().api_key(key)
        })
    }

    /// Sets the key, which is required. White space around it is removed.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into().trim().to_owned().into());
        self
    }

    /// Sets the address before `/responses` or `/chat/completions`; OpenAI's own by default.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        (self.base_url, self.base_url_variable) = (Some(url.into()), None);
        self
    }

    /// Sets the organization that is billed (`OpenAI-Organization`).
    pub fn organization(mut self, id: impl Into<String>) -> Self {
        self.organization = Some(id.into());
        self
    }

    /// Sets the project that is billed (`OpenAI-Project`).
    pub fn project(mut self, id: impl Into<String>) -> Self {
        self.project = Some(id.into());
        self
    }

    /// Selects the API; [`OpenAiApi::Responses`] by default.
    pub fn api(mut self, api: OpenAiApi) -> Self {
        self.api = api;
        self
    }

    /// Selects an Azure OpenAI resource, in place of a base URL; the key is that of the resource.
    pub fn azure(mut self, azure: Azure) -> Self {
        self.azure = Some(azure);
        self
    }

    /// Adds a header to every request, such as one of a gateway. Its value is treated as a secret.
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
    /// included. The default and the failure are those of
    /// [`first_chunk_timeout`](Self::first_chunk_timeout).
    pub fn chunk_timeout(mut self, timeout: Duration) -> Self {
        self.silence.chunk = Some(timeout);
        self
    }

    /// Selects the model names that this provider serves; all names by default. The worker queries
    /// its next provider for all others.
    pub fn serving(mut self, serves: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.serves = Some(Arc::new(serves));
        self
    }

    /// Sends an empty `reasoning_content` back to the server, beside the calls that it came with.
    /// By default it is left out, because some servers refuse it; others require it.
    pub fn keep_empty_reasoning(mut self) -> Self {
        self.keeps_empty_reasoning = true;
        self
    }

    /// Sets the name of this provider in
    /// [`Destination::provider`](crate::worker::Destination::provider), which distinguishes several
    /// of them. Default `openai`.
    ///
    /// Reasoning carries the name of a provider that has another one, and is sent back to that
    /// provider only. Name the providers if agents of one run use the Responses API of several
    /// servers.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Creates the provider.
    ///
    /// # Errors
    /// [`OpenAiConfigError`], which names the part that is missing or cannot be used.
    pub fn build(self) -> Result<OpenAi, OpenAiConfigError> {
        let Self {
            api_key,
            base_url,
            base_url_variable,
            organization,
            project,
            azure,
            headers,
            timeout,
            silence,
            api,
            serves,
            name,
            keeps_empty_reasoning,
        } = self;
        let key = api_key.filter(|key| !key.expose_secret().is_empty()).ok_or(OpenAiConfigError::KeyEmpty)?;
        let base = base(base_url.as_deref(), base_url_variable, azure.as_ref())?;
        let http = server::client(base.scheme() == "https", timeout)?;

        let mut carried = HeaderMap::new();
        match &azure {
            Some(_) => add_header(&mut carried, "api-key", key.expose_secret())?,
            None => add_header(&mut carried, AUTHORIZATION.as_str(), &format!("Bearer {}", key.expose_secret()))?,
        }
        for (name, id) in [("OpenAI-Organization", organization), ("OpenAI-Project", project)] {
            if let Some(id) = id {
                add_header(&mut carried, name, &id)?;
            }
        }
        for (name, value) in &headers {
            add_header(&mut carried, name, value.expose_secret())?;
        }

        let secrets = header_secrets(headers).chain([key]).collect();
        let base = base.as_str();
        let preparation = Arc::new(Preparation {
            rules: rules(api, base, azure.is_some()),
            log: ChangeLog::default(),
            is_default: azure.is_none() && name.as_ref().is_none_or(|name| name == DEFAULT_NAME),
            maker: name.clone().unwrap_or_else(|| if azure.is_some() { "azure" } else { DEFAULT_NAME }.to_owned()),
            keeps_empty_reasoning,
        });
        let transport = Transport::new(http, base, carried, Redactor::new(secrets));
        let endpoint = Arc::new(Endpoint { transport, azure });
        let serves = serves.unwrap_or_else(|| Arc::new(|_| true));
        let name = name.unwrap_or_else(|| DEFAULT_NAME.to_owned());
        Ok(OpenAi { endpoint, api, silence, refusals: Arc::default(), preparation, serves, name })
    }
}

/// Returns what the server at this address accepts.
fn rules(api: OpenAiApi, base: &str, is_azure: bool) -> &'static ApiRules {
    let host = Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let is_azure = is_azure || host.ends_with(".azure.com");
    match api {
        OpenAiApi::Responses if is_azure => &AZURE_RESPONSES,
        OpenAiApi::Responses => &RESPONSES,
        OpenAiApi::ChatCompletions if is_azure => &AZURE_CHAT_COMPLETIONS,
        OpenAiApi::ChatCompletions if host.ends_with(".x.ai") => &XAI,
        OpenAiApi::ChatCompletions => &CHAT_COMPLETIONS,
    }
}

fn base(
    base_url: Option<&str>,
    base_url_variable: Option<&'static str>,
    azure: Option<&Azure>,
) -> Result<Url, OpenAiConfigError> {
    let unusable = |reason: &str| OpenAiConfigError::BaseUrl {
        url: base_url.or(azure.map(Azure::endpoint)).and_then(address::unless_secret),
        variable: base_url_variable.filter(|_| base_url.is_some()),
        reason: reason.to_owned(),
    };
    let text = match (base_url, azure) {
        (Some(_), Some(_)) => return Err(unusable("an Azure endpoint is also configured; set only one of them")),
        (None, Some(azure)) => format!("{}/openai", azure.endpoint().trim().trim_end_matches('/')),
        (base_url, None) => base_url.unwrap_or(OPENAI).trim().to_owned(),
    };
    ADVICE.parse(&text).map_err(|reason| unusable(&reason))
}

impl std::fmt::Debug for OpenAiBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            api_key: _,
            base_url: _,
            base_url_variable: _,
            organization,
            project,
            azure,
            headers,
            timeout,
            silence,
            api,
            serves: _,
            name: _,
            keeps_empty_reasoning: _,
        } = self;
        let headers: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OpenAiBuilder")
            .field("organization", organization)
            .field("project", project)
            .field("azure", azure)
            .field("headers", &headers)
            .field("timeout", timeout)
            .field("silence", silence)
            .field("api", api)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
