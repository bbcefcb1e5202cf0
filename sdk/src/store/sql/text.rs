//! Text that both databases store, and index.
//!
//! PostgreSQL refuses U+0000 in text, and index entries of more than some 2,700 bytes. Ids that
//! come from elsewhere (sessions, threads, keys, names) therefore go through [`storable`] or
//! [`indexed`]; JSON does not need to.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

/// Maximum length, in bytes, of a text that is indexed as it is.
const MAX_INDEXED_BYTES: usize = 800;

/// Returns the text without U+0000: it becomes `\0`, and a backslash two of them.
pub(crate) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', '\\']) {
        return text.replace('\\', "\\\\").replace('\0', "\\0").into();
    }
    text.into()
}

/// Returns the text that [`storable`] was called with.
pub(crate) fn restored(stored: &str) -> String {
    let mut text = String::with_capacity(stored.len());
    let mut characters = stored.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' if characters.next() == Some('0') => '\0',
            other => other,
        });
    }
    text
}

/// Returns a text for a key of a table: [`storable`], or a digest of a long text. Different texts
/// have different keys. A digest begins with `\#`, which a storable text never does.
pub(crate) fn indexed(text: &str) -> Cow<'_, str> {
    let stored = storable(text);
    if stored.len() <= MAX_INDEXED_BYTES {
        return stored;
    }
    let digest = Sha256::digest(text.as_bytes());
    format!("\\#{digest:x}").into()
}

#[cfg(test)]
mod tests;
