//! The configuration of [`Genai`], checked completely before the first call.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ::genai::{
    Client,
    adapter::AdapterKind,
    resolver::{AuthData, Endpoint, ProviderConfig},
};
use secrecy::{ExposeSecret, SecretString};

use super::{Genai, Serves, Shared, dialect};
use crate::provider::{
    http::{address, server::AddressAdvice, silence::SilenceOptions},
    http_client,
};
use temporal_agents_core::{tool::BoxError, wire::error_debug};

const ADVICE: AddressAdvice = AddressAdvice { in_full: "", query: "", credentials: "; set them as API key" };

/// Describes a [`Genai`]; see [`Genai::builder`].
#[derive(Default)]
#[must_use]
pub struct GenaiBuilder {
    api_keys: BTreeMap<String, SecretString>,
    base_urls: BTreeMap<String, String>,
    timeout: Option<Duration>,
    silence: SilenceOptions,
    serves: Option<Serves>,
    name: Option<String>,
}

/// The error of a provider's configuration. It is found when the worker starts, and never retried.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum GenaiConfigError {
    /// No adapter has this name.
    #[error("genai has no adapter `{adapter}`; the adapters are {known}")]
    UnknownAdapter {
        /// The unknown name.
        adapter: String,
        /// Names of all adapters, separated by commas.
        known: String,
    },
    /// The key is empty.
    #[error("the API key of `{adapter}` is empty (any value works for a server that does not check it)")]
    KeyEmpty {
        /// Name of the adapter.
        adapter: String,
    },
    /// The address cannot be used.
    #[error("the base URL{} of `{adapter}` cannot be used: {reason}", address::quoted(.url.as_deref()))]
    BaseUrl {
        /// The address as it was configured; `None` if it may contain a secret.
        url: Option<String>,
        /// Name of the adapter.
        adapter: String,
        /// The reason that the address cannot be used.
        reason: String,
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

error_debug!(enum GenaiConfigError {
    UnknownAdapter { adapter, known },
    KeyEmpty { adapter },
    BaseUrl { url, adapter, reason },
    Tls { source },
    HttpClient { source },
});

impl GenaiBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Sets the key of an adapter, which is named by the namespace of its models: `anthropic`.
    /// White space around the key is removed. Without a key, the adapter reads its variable of the
    /// worker's environment, such as `ANTHROPIC_API_KEY`.
    pub fn api_key(mut self, adapter: impl Into<String>, key: impl Into<String>) -> Self {
        self.api_keys.insert(adapter.into(), key.into().trim().to_owned().into());
        self
    }

    /// Sets the address of an adapter: that of a gateway, of a server of your own, or of a test
    /// server. It is the part before `messages`, `chat/completions` or `models/..`, including the
    /// version: `https://gateway.example.com/v1`. The key is sent to it.
    pub fn base_url(mut self, adapter: impl Into<String>, url: impl Into<String>) -> Self {
        self.base_urls.insert(adapter.into(), url.into());
        self
    }

    /// Sets the request timeout. Defaults to the timeout of the model activity.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the maximum time from sending a streamed request until the first event of its answer
    /// arrives. By default it is 5 minutes, or half of
    /// [`ModelSettings::timeout`](temporal_agents_core::wire::ModelSettings::timeout) if that is longer: a
    /// reasoning model is silent for minutes, and an attempt has 10 minutes by default. The limit
    /// of the whole request, [`timeout`](Self::timeout), also holds. A call that exceeds it fails
    /// with [`ModelFailureKind::Timeout`](temporal_agents_core::wire::ModelFailureKind::Timeout) and is retried.
    pub fn first_chunk_timeout(mut self, timeout: Duration) -> Self {
        self.silence.first_chunk = Some(timeout);
        self
    }

    /// Sets the maximum time between two events of a streamed answer. The default and the failure
    /// are those of [`first_chunk_timeout`](Self::first_chunk_timeout).
    pub fn chunk_timeout(mut self, timeout: Duration) -> Self {
        self.silence.chunk = Some(timeout);
        self
    }

    /// Selects the model names that this provider serves, in place of [those it serves by
    /// itself](Genai#names). The worker queries its next provider for all others.
    pub fn serving(mut self, serves: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.serves = Some(Arc::new(serves));
        self
    }

    /// Sets the name of this provider in
    /// [`Destination::provider`](crate::worker::Destination::provider), for all its adapters.
    /// Default `genai`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Creates the provider.
    ///
    /// # Errors
    /// [`GenaiConfigError`], which names the part that is missing or cannot be used.
    pub fn build(self) -> Result<Genai, GenaiConfigError> {
        let Self { api_keys, base_urls, timeout, silence, serves, name } = self;
        let mut client = Client::builder();
        // An adapter without a configured address is reached over TLS.
        let mut https = base_urls.is_empty();
        for (adapter, url) in &base_urls {
            let url = ADVICE.parse(url).map_err(|reason| GenaiConfigError::BaseUrl {
                url: address::unless_secret(url),
                adapter: adapter.clone(),
                reason,
            })?;
            https |= url.scheme() == "https";
            let endpoint = Endpoint::from_owned(format!("{}/", url.as_str().trim_end_matches('/')));
            client = client.append_provider_config(kind(adapter)?, ProviderConfig::from_endpoint(endpoint));
        }
        for (adapter, key) in &api_keys {
            let kind = kind(adapter)?;
            if key.expose_secret().is_empty() {
                return Err(GenaiConfigError::KeyEmpty { adapter: adapter.clone() });
            }
            let auth = AuthData::from_single(key.expose_secret());
            client = client.append_provider_config(kind, ProviderConfig::from_auth(auth));
        }
        let http = http_client::builder(https).map_err(|source| GenaiConfigError::Tls { source: source.into() })?;
        // The crate reads whole bodies, without a limit: uncompressed, a body needs no more memory
        // than was sent.
        let mut http = http.no_gzip().no_brotli().no_deflate().no_zstd();
        if let Some(timeout) = timeout {
            http = http.timeout(timeout);
        }
        let http = http.build().map_err(|source| GenaiConfigError::HttpClient { source: source.into() })?;
        let client = client
            .with_reqwest(http.clone())
            .build()
            .map_err(|source| GenaiConfigError::HttpClient { source: source.into() })?;
        let serves = serves.unwrap_or_else(|| Arc::new(dialect::serves));
        let name = name.unwrap_or_else(|| "genai".to_owned());
        let shared = Shared { client, http, silence, refusals: Arc::default(), changes: Arc::default() };
        Ok(Genai { shared, serves, name })
    }
}

fn kind(adapter: &str) -> Result<AdapterKind, GenaiConfigError> {
    AdapterKind::from_lower_str(adapter).ok_or_else(|| GenaiConfigError::UnknownAdapter {
        adapter: adapter.to_owned(),
        known: AdapterKind::all().iter().map(AdapterKind::as_lower_str).collect::<Vec<_>>().join(", "),
    })
}

impl std::fmt::Debug for GenaiBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { api_keys, base_urls, timeout, silence, serves: _, name: _ } = self;
        f.debug_struct("GenaiBuilder")
            .field("api_keys", &api_keys.keys().collect::<Vec<_>>())
            .field("base_urls", &base_urls.keys().collect::<Vec<_>>())
            .field("timeout", timeout)
            .field("silence", silence)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
