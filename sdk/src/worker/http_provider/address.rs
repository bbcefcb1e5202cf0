//! The address of a provider as logs and failures show it.

use reqwest::Url;

use super::redact::Redactor;

/// Scheme, host, port and path of an address, without secrets; user, password and query are left out, because they may be one.
pub(in crate::worker) fn shown(base: &str, redactor: &Redactor) -> String {
    let Ok(mut url) = Url::parse(base) else { return "an address that is none".to_owned() };
    // An address that cannot have them has none.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    redactor.clean(url.as_str().trim_end_matches('/'))
}

#[cfg(test)]
mod tests;
