//! The HTTP client of the provider.

use std::time::Duration;

use super::builder::OpenAiConfigError;
use crate::provider::http_client;

/// Creates a client; `https` is `true` if the address is reached over TLS.
///
/// # Errors
/// [`OpenAiConfigError::Tls`], if the platform's certificates cannot be loaded and the address
/// needs them.
pub(super) fn http_client(https: bool, timeout: Option<Duration>) -> Result<reqwest::Client, OpenAiConfigError> {
    let mut client = http_client::builder(https).map_err(|source| OpenAiConfigError::Tls { source: source.into() })?;
    if let Some(timeout) = timeout {
        client = client.timeout(timeout);
    }
    client.build().map_err(|source| OpenAiConfigError::HttpClient { source: source.into() })
}
