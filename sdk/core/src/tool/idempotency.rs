//! The key that identifies one call of a tool, on every worker and at every attempt of its body.
//!
//! # Design
//! The key is a hash over the id of the workflow's first execution, the run's first id, path,
//! agent, turn, the model's response id and the call id. The workflow makes it, and the request
//! carries it. The first two are kept in the run's state (`RunState::key_scope`), because each
//! execution draws another id for the run. Namespace and workflow id are not part of it: a history
//! that is replayed from a file does not have them, and without them the key is unique. A guardrail
//! in an activity also has a key: a digest of the checked input or output replaces the response,
//! and the guardrail's position among the guardrails replaces the call.

use sha2::{Digest as _, Sha256};

/// Returns 96 bits of SHA-256 over the parts, each prefixed with its length, as 16 characters of
/// `A-Z a-z 0-9 - _`. The key is short because history holds it with every call.
pub fn idempotency_key<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"temporal-agents call 1");
    for part in parts {
        // The length separates the parts: `ab`, `c` and `a`, `bc` have different keys.
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest[..12].chunks_exact(3).flat_map(four_characters).collect()
}

/// Encodes three bytes in URL-safe base 64.
fn four_characters(bytes: &[u8]) -> [char; 4] {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits = bytes.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte));
    [18, 12, 6, 0].map(|shift| char::from(ALPHABET[bits >> shift & 63]))
}

#[cfg(test)]
mod tests {
    use super::idempotency_key;

    #[test]
    fn keys_are_those_of_every_release() {
        assert_eq!(idempotency_key(["shop", "refunds", "call_1"]), "4Y2tBmjGuvlSnZYv");
        assert_ne!(idempotency_key(["ab", "c"]), idempotency_key(["a", "bc"]));
    }
}
