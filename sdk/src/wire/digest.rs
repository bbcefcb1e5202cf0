//! Digests of conversations and definitions: SHA-256 over canonical JSON, its first 16 bytes.
//!
//! A conversation's digest is a chain over the digests of its items, so that neither a longer conversation nor a shorter one
//! has its items read again: `d(n+1) = H(d(n) || H(canonical(item n)))`, starting at
//! `d(0) = H("temporal-agents conversation 1")`. Test vectors: `tests/golden/wire/v1.2/digests.json`.
//!
//! # Design
//! SHA-256, the first 16 bytes, with the algorithm's name in the message. The worker proves with a
//! digest that it sends the model what the workflow meant. An item's digest is computed once for
//! all its copies, so that a turn does not read the conversation again. Digests of the latest
//! definitions are remembered, per thread: run after run of a worker sends its models the same
//! ones.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{canonical, item::Item};

const ALGORITHM: &str = "sha256-128";
const BYTES: usize = 16;
const CONVERSATION: &[u8] = b"temporal-agents conversation 1";

/// A digest; JSON shape: the string `sha256-128:` and 32 hex digits, so that the algorithm is named in the message.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

/// The digest of one item, as it is held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemDigest([u8; BYTES]);

impl ItemDigest {
    /// The digest of an item's object.
    pub fn of(object: &Map<String, Value>) -> Self {
        // Room for a tool's result of some hundred bytes.
        let mut json = Vec::with_capacity(1024);
        canonical::write_object(object, &mut json);
        Self(hash(&[&json]))
    }
}

/// The digest of a conversation that may go on, as it is held in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DigestChain([u8; BYTES]);

impl DigestChain {
    /// Of a conversation without items.
    pub fn empty() -> Self {
        Self(hash(&[CONVERSATION]))
    }

    /// Of this conversation with one more item.
    #[must_use]
    pub fn then(self, item: ItemDigest) -> Self {
        Self(hash(&[&self.0, &item.0]))
    }

    /// The digest, as messages have it.
    pub fn digest(self) -> Digest {
        Digest::named(self.0)
    }
}

impl Digest {
    /// The digest of a whole conversation.
    pub fn of_conversation<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        items.into_iter().fold(DigestChain::empty(), |chain, item| chain.then(item.digest())).digest()
    }

    /// The digest of any JSON value.
    pub fn of_value(value: &Value) -> Self {
        let mut json = Vec::with_capacity(256);
        canonical::write(value, &mut json);
        Self::named(hash(&[&json]))
    }

    /// The digest of a JSON object.
    pub(crate) fn of_object(object: &Map<String, Value>) -> Self {
        Self::named(ItemDigest::of(object).0)
    }

    /// The digest of a text as it is.
    pub fn of_text(text: &str) -> Self {
        Self::named(hash(&[text.as_bytes()]))
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
