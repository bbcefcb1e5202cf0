//! The address of a provider as logs and failures show it.

use reqwest::Url;

use super::redact::Redactor;

/// The longest address that is quoted as it was given.
const LONGEST: usize = 200;

/// Scheme, host, port and path of an address, without secrets; user, password and query are left out, because they may be one.
pub(crate) fn shown(base: &str, redactor: &Redactor) -> String {
    let Ok(mut url) = Url::parse(base) else { return "an address that is none".to_owned() };
    // An address that cannot have them has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    redactor.clean(url.as_str().trim_end_matches('/'))
}

/// The address as it was given, unless it may hold a secret (credentials, a query, or a key in place of an address) or is very long.
pub(crate) fn as_given(address: &str) -> Option<String> {
    let is_address = address.contains([':', '/']) || address.len() < 16;
    let is_plain = is_address && address.len() <= LONGEST && !address.contains(['@', '?', '#']);
    is_plain.then(|| address.to_owned())
}

/// An address in a message, with a space before it.
pub(crate) fn quoted(address: Option<&str>) -> String {
    address.map(|address| format!(" {address:?}")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
