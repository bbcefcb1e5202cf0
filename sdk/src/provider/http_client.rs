//! The HTTP client of providers and MCP servers. Its TLS is configured here, without a process-wide
//! crypto provider.
//!
//! It retries nothing and follows no redirect, so that one call is one request: Temporal retries,
//! and credentials are sent to the configured address only.
//!
//! # Design
//! **One TLS provider, ring,** as in the Temporal client. It is passed to the HTTP client directly,
//! and none is installed for the whole process, because that choice is the application's.

use std::sync::Arc;
#[cfg(any(feature = "openai", feature = "anthropic", feature = "mcp"))]
use std::time::Duration;

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// The timeout for establishing a connection. The response has no timeout here; the activity limits
/// it.
#[cfg(any(feature = "openai", feature = "anthropic", feature = "mcp"))]
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
#[cfg(any(feature = "openai", feature = "anthropic", feature = "mcp"))]
const USER_AGENT: &str = concat!("temporal-agents/", env!("CARGO_PKG_VERSION"));

/// Returns a TLS configuration; `https` is `true` if the address is reached over TLS.
///
/// # Errors
/// The platform's certificates cannot be loaded, and the address needs them.
pub(crate) fn tls(https: bool) -> Result<ClientConfig, rustls::Error> {
    match platform_tls() {
        Err(_) if !https => tls_that_trusts_nobody(),
        tls => tls,
    }
}

/// Returns a client builder; `https` is `true` if the address is reached over TLS.
///
/// # Errors
/// The platform's certificates cannot be loaded, and the address needs them.
#[cfg(any(feature = "openai", feature = "anthropic", feature = "mcp"))]
pub(crate) fn builder(https: bool) -> Result<reqwest::ClientBuilder, rustls::Error> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls(https)?)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never()))
}

/// Returns a TLS configuration that verifies servers as the platform does.
fn platform_tls() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

/// Returns a TLS configuration that trusts no server, for plain HTTP on a machine without
/// certificates: reqwest requires a configuration even then.
fn tls_that_trusts_nobody() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty());
    Ok(config.with_no_client_auth())
}
