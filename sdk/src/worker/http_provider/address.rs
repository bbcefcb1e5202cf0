//! Base addresses of providers, as messages show them.

/// The longest address that is shown.
const LONGEST: usize = 200;

/// The address as it was given, unless it may hold a secret: credentials, or a query.
pub(in crate::worker) fn shown(address: &str) -> Option<String> {
    let is_plain = address.len() <= LONGEST && !address.contains(['@', '?', '#']);
    is_plain.then(|| address.to_owned())
}

/// An address in a message, with a space before it.
pub(in crate::worker) fn quoted(address: Option<&str>) -> String {
    address.map(|address| format!(" {address:?}")).unwrap_or_default()
}
