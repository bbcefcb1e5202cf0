//! Digests of conversations and definitions: the first 16 bytes of SHA-256 over canonical JSON.
//!
//! A conversation's digest is a chain over the digests of its items, so that the digest of a longer
//! or a shorter conversation is computed without reading its items again:
//! `d(n+1) = H(d(n) || H(canonical(item n)))`, starting at
//! `d(0) = H("temporal-agents conversation 1")`. Test vectors:
//! `tests/golden/wire/v1.2/digests.json`.
//!
//! # Design
//! A digest is the first 16 bytes of SHA-256, with the algorithm's name in the message. With a
//! digest the worker proves that it sends the model what the workflow meant. An item's digest is
//! computed once for all its copies, so that a turn does not read the conversation again. Digests
//! of the latest definitions are cached per thread, because most runs of a worker send its models
//! the same definitions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{canonical, item::Item};

const ALGORITHM: &str = "sha256-128";
const BYTES: usize = 16;
const CONVERSATION: &[u8] = b"temporal-agents conversation 1";

/// A digest; JSON shape: the string `sha256-128:` followed by 32 hex digits, so that the algorithm
/// is named in the message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

/// The digest of one item, in its form in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemDigest([u8; BYTES]);

impl ItemDigest {
    /// Returns the digest of an item's object.
    pub fn of(object: &Map<String, Value>) -> Self {
        // Capacity for a tool's result of some hundred bytes.
        let mut json = Vec::with_capacity(1024);
        canonical::write_object(object, &mut json);
        Self(hash(&[&json]))
    }
}

/// The digest of a conversation to which items may be added, in its form in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestChain([u8; BYTES]);

impl DigestChain {
    /// Returns the digest of a conversation without items.
    pub fn empty() -> Self {
        Self(hash(&[CONVERSATION]))
    }

    /// Returns the digest of this conversation with one more item.
    #[must_use]
    pub fn then(self, item: ItemDigest) -> Self {
        Self(hash(&[&self.0, &item.0]))
    }

    /// Returns the digest in the form that messages have.
    pub fn digest(self) -> Digest {
        Digest::named(self.0)
    }
}

impl Digest {
    /// Returns the digest of a whole conversation.
    pub fn of_conversation<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        items.into_iter().fold(DigestChain::empty(), |chain, item| chain.then(item.digest())).digest()
    }

    /// Returns the digest of any JSON value.
    pub fn of_value(value: &Value) -> Self {
        let mut json = Vec::with_capacity(256);
        canonical::write(value, &mut json);
        Self::named(hash(&[&json]))
    }

    /// Returns the digest of a JSON object.
    pub(crate) fn of_object(object: &Map<String, Value>) -> Self {
        Self::named(ItemDigest::of(object).0)
    }

    /// Returns the digest of the bytes of a string.
    pub fn of_text(text: &str) -> Self {
        Self::named(hash(&[text.as_bytes()]))
    }

    /// Returns the digest in its wire form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the algorithm that this digest names, if it is not the one that this build computes.
    pub fn foreign_algorithm(&self) -> Option<&str> {
        let algorithm = self.0.split_once(':').map_or(&*self.0, |(algorithm, _)| algorithm);
        (algorithm != ALGORITHM).then_some(algorithm)
    }

    fn named(bytes: [u8; BYTES]) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(ALGORITHM.len() + 1 + 2 * BYTES);
        text.push_str(ALGORITHM);
        text.push(':');
        for digit in bytes.into_iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
        Self(text)
    }
}

fn hash(parts: &[&[u8]]) -> [u8; BYTES] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let mut bytes = [0; BYTES];
    bytes.copy_from_slice(&hasher.finalize()[..BYTES]);
    bytes
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
