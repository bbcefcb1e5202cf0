//! Digests of conversations and definitions: SHA-256 over canonical JSON, its first 16 bytes.
//!
//! A conversation's digest is a chain, so that the digest of a longer conversation is computed from that of its
//! prefix: `d(n+1) = H(d(n) || canonical(item n))`, starting at `d(0) = H("temporal-agents conversation 1")`; `d(n)` is
//! hashed in its wire form. Test vectors: `tests/golden/wire/v1.0/digests.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{canonical, item::Item};

const ALGORITHM: &str = "sha256-128";
const BYTES: usize = 16;
const CONVERSATION: &[u8] = b"temporal-agents conversation 1";

/// A digest; JSON shape: the string `sha256-128:` and 32 hex digits, so that the algorithm is named in the message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of an empty conversation.
    pub fn empty_conversation() -> Self {
        Self::of_bytes(&[CONVERSATION])
    }

    /// The digest of this conversation with one more item.
    #[must_use]
    pub fn then(&self, item: &Item) -> Self {
        let mut json = Vec::with_capacity(256);
        canonical::write_object(item.as_object(), &mut json);
        Self::of_bytes(&[self.0.as_bytes(), &json])
    }

    /// The digest of a whole conversation.
    pub fn of_conversation<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        items.into_iter().fold(Self::empty_conversation(), |digest, item| digest.then(item))
    }

    /// The digest of any JSON value.
    pub fn of_value(value: &Value) -> Self {
        let mut json = Vec::with_capacity(256);
        canonical::write(value, &mut json);
        Self::of_bytes(&[&json])
    }

    /// The digest in its wire form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The algorithm this digest names, where it is not the one this build computes.
    pub fn foreign_algorithm(&self) -> Option<&str> {
        let algorithm = self.0.split_once(':').map_or(&*self.0, |(algorithm, _)| algorithm);
        (algorithm != ALGORITHM).then_some(algorithm)
    }

    fn of_bytes(parts: &[&[u8]]) -> Self {
        use std::fmt::Write as _;

        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        let mut text = String::with_capacity(ALGORITHM.len() + 1 + 2 * BYTES);
        text.push_str(ALGORITHM);
        text.push(':');
        for byte in &hasher.finalize()[..BYTES] {
            write!(text, "{byte:02x}").expect("writing to a String cannot fail");
        }
        Self(text)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
