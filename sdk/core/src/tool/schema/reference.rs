//! Resolution of local `$ref`s.
//!
//! Only references into the same document (`#`, `#/$defs/Name`) are followed. There is no I/O: any
//! other reference resolves to `None`, and the caller decides what that means.

use serde_json::Value;

/// Returns the schema that `reference` points to, if it is in this document.
pub fn resolve<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let fragment = reference.strip_prefix('#')?;
    root.pointer(&percent_decoded(fragment)?)
}

/// Escapes a key as one step of a JSON pointer, the part between two slashes.
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Decodes a fragment, which is part of a URI: `#/$defs/A%20B` names the definition `A B`.
pub fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut parts = fragment.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let code = u8::from_str_radix(part.get(..2)?, 16).ok()?;
        bytes.push(code);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}
