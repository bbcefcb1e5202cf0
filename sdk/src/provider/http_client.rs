//! The HTTP client of providers and MCP servers: its TLS set up here, with no crypto provider installed for the whole process.
//!
//! It retries nothing and follows no redirect, so that one call stays one request: Temporal retries, and credentials
//! go nowhere but to the configured address.
//!
//! # Design
//! **One TLS provider, ring,** as in the Temporal client. It is passed to the HTTP client directly,
//! and no provider is installed for the whole process: that choice is the application's.

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

/// How long a connection may take; an answer may take as long as the activity may.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
const USER_AGENT: &str = concat!("temporal-agents/", env!("CARGO_PKG_VERSION"));

/// A client, to be built, for an address that is reached over TLS, or is not.
///
/// # Errors
/// When the platform's certificates cannot be loaded and the address needs them.
pub(crate) fn builder(https: bool) -> Result<reqwest::ClientBuilder, rustls::Error> {
    let tls = match platform_tls() {
        Err(_) if !https => tls_that_trusts_nobody(),
        tls => tls,
    }?;
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(USER_AGENT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never()))
}

/// TLS that verifies servers as the platform does.
fn platform_tls() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(config.with_no_client_auth())
}

/// For plain HTTP on a machine without certificates: reqwest wants a configuration even then.
fn tls_that_trusts_nobody() -> Result<ClientConfig, rustls::Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(RootCertStore::empty());
    Ok(config.with_no_client_auth())
}
