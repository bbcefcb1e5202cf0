//! The parts of a provider's configuration that say which server it uses: the address, the headers,
//! and the HTTP client.
//!
//! All are checked before the first call. The errors here have no text of their own for users: each
//! provider puts them into the error of its configuration.

use std::time::Duration;

use reqwest::{
    Client, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use secrecy::{ExposeSecret, SecretString};
use temporal_agents_core::tool::BoxError;

use crate::provider::http_client;

/// What a provider advises for an address that cannot be used, each to follow the reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressAdvice {
    /// For an address that is not absolute.
    pub(crate) in_full: &'static str,
    /// For an address with a query.
    pub(crate) query: &'static str,
    /// For an address with credentials.
    pub(crate) credentials: &'static str,
}

impl AddressAdvice {
    /// Returns the address in this text.
    ///
    /// # Errors
    /// The reason that it cannot be used, with the advice.
    pub(crate) fn parse(self, text: &str) -> Result<Url, String> {
        let Self { in_full, query, credentials } = self;
        let url = Url::parse(text.trim()).map_err(|error| format!("{error}{in_full}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("it starts with neither https:// nor http://{in_full}"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(format!("it has a query or a fragment{query}"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("it contains credentials{credentials}"));
        }
        Ok(url)
    }
}

/// Formats the environment variable of an address for an error message.
pub(crate) fn variable_suffix(variable: Option<&str>) -> String {
    variable.map(|variable| format!(" ({variable})")).unwrap_or_default()
}

/// A header with characters that are invalid in HTTP, by its name.
#[derive(Debug)]
pub(crate) struct InvalidHeader(pub(crate) String);

/// Sets a header, with its value marked as sensitive, so that it is never shown.
///
/// # Errors
/// Name or value are invalid in HTTP.
pub(crate) fn add_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), InvalidHeader> {
    let (Ok(header), Ok(mut value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) else {
        return Err(InvalidHeader(name.to_owned()));
    };
    value.set_sensitive(true);
    headers.insert(header, value);
    Ok(())
}

/// Returns the parts of configured headers that are removed from messages.
pub(crate) fn header_secrets(headers: Vec<(String, SecretString)>) -> impl Iterator<Item = SecretString> {
    headers.into_iter().flat_map(|(_, value)| with_token(value)).filter(is_long)
}

/// Returns a header's value, and the token after its scheme: of `Bearer abc`, a server may quote
/// only `abc`.
fn with_token(value: SecretString) -> Vec<SecretString> {
    let token =
        value.expose_secret().split_once(' ').map(|(_scheme, token)| SecretString::from(token.trim().to_owned()));
    std::iter::once(value).chain(token).collect()
}

/// Returns `true` if a header's value is removed from messages: a short one, such as `true` or
/// `v2`, is not a secret, and occurs in many words.
fn is_long(value: &SecretString) -> bool {
    value.expose_secret().len() >= 8
}

/// The reason that there is no HTTP client.
#[derive(Debug)]
pub(crate) enum ClientError {
    /// The platform's certificates could not be loaded.
    Tls(BoxError),
    /// The client could not be built.
    Build(BoxError),
}

/// Creates a client; `https` is `true` if the address is reached over TLS.
///
/// # Errors
/// The platform's certificates cannot be loaded, and the address needs them.
pub(crate) fn client(https: bool, timeout: Option<Duration>) -> Result<Client, ClientError> {
    let mut client = http_client::builder(https).map_err(|error| ClientError::Tls(error.into()))?;
    if let Some(timeout) = timeout {
        client = client.timeout(timeout);
    }
    client.build().map_err(|error| ClientError::Build(error.into()))
}
