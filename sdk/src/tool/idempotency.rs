//! The key that names one call of a tool wherever and however often its body runs.

use sha2::{Digest as _, Sha256};

/// 128 bits of SHA-256 over the parts, each with its length before it; 32 hex digits.
pub(crate) fn idempotency_key<'p>(parts: impl IntoIterator<Item = &'p str>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"temporal-agents call 1");
    for part in parts {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hasher.update(part);
    }
    hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::idempotency_key;

    #[test]
    fn keys_are_those_of_every_release() {
        assert_eq!(idempotency_key(["shop", "refunds", "call_1"]).len(), 32);
        assert_ne!(idempotency_key(["ab", "c"]), idempotency_key(["a", "bc"]));
    }
}
