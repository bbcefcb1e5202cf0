//! The address of a provider in the form for logs and failures.

use reqwest::Url;

use super::redact::Redactor;

/// The maximum length of an address that is quoted as it was configured.
const LONGEST: usize = 200;

/// Returns scheme, host, port and path of an address, without secrets. User, password and query are
/// left out, because they may be secret.
pub(crate) fn shown(base: &str, redactor: &Redactor) -> String {
    let Ok(mut url) = Url::parse(base) else { return "an invalid address".to_owned() };
    // An address that cannot have a user or a password has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    redactor.clean(url.as_str().trim_end_matches('/'))
}

/// Returns the address as it was configured; `None` if it may contain a secret (credentials, a
/// query, or a key in place of an address) or is very long.
pub(crate) fn unless_secret(address: &str) -> Option<String> {
    let is_address = address.contains([':', '/']) || address.len() < 16;
    let is_plain = is_address && address.len() <= LONGEST && !address.contains(['@', '?', '#']);
    is_plain.then(|| address.to_owned())
}

/// Formats an address for a message, with a space before it.
pub(crate) fn quoted(address: Option<&str>) -> String {
    address.map(|address| format!(" {address:?}")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
