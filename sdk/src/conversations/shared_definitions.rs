//! Definitions that the runs of a worker share: most runs have the agents of other runs, and their
//! instructions and schemas are large.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use sha2::{Digest, Sha256};
use temporal_agents_core::wire::Definitions;

/// Maximum number of definitions that are shared. Others belong to one run each.
const MAX_SHARED: usize = 64;
/// The approximate size of an entry without its text, in bytes.
const OVERHEAD: usize = 64;

/// The latest definitions, by the SHA-256 of their JSON text: the order of schema members reaches
/// the model, so equal definitions may differ.
#[derive(Debug, Default)]
pub(super) struct SharedDefinitions(VecDeque<([u8; 32], Weak<Definitions>)>);

impl SharedDefinitions {
    /// Returns the definitions, shared with the runs that have the same, and their size in bytes.
    pub(super) fn share(&mut self, definitions: &Definitions) -> (Arc<Definitions>, usize) {
        let json = serde_json::to_vec(definitions).unwrap_or_default();
        let (hash, bytes): ([u8; 32], _) = (Sha256::digest(&json).into(), json.len() + OVERHEAD);
        self.0.retain(|(_, shared)| shared.strong_count() > 0);
        if let Some(shared) = self.0.iter().find(|(of, _)| *of == hash).and_then(|(_, shared)| shared.upgrade()) {
            return (shared, bytes);
        }
        let shared = Arc::new(definitions.clone());
        if self.0.len() == MAX_SHARED {
            self.0.pop_front();
        }
        self.0.push_back((hash, Arc::downgrade(&shared)));
        (shared, bytes)
    }
}

/// Returns the size of definitions, in bytes.
pub(super) fn len_of(definitions: &Definitions) -> usize {
    serde_json::to_vec(definitions).map_or(0, |json| json.len()) + OVERHEAD
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use temporal_agents_core::wire::{OutputSpec, Schema};

    fn with_schema(schema: &str) -> Definitions {
        let schema: Schema = serde_json::from_str(schema).expect("a schema");
        let output = OutputSpec { name: "out".to_owned(), schema, strict: false };
        Definitions { output: Some(output), ..Definitions::default() }
    }

    #[test]
    fn runs_share_definitions_only_with_the_same_order_of_members() {
        let mut shared = SharedDefinitions::default();
        let (first, bytes) = shared.share(&with_schema(r#"{"a": 1, "b": 2}"#));
        assert_eq!(bytes, len_of(&first));
        assert!(Arc::ptr_eq(&first, &shared.share(&with_schema(r#"{"a": 1, "b": 2}"#)).0));
        let (other, _) = shared.share(&with_schema(r#"{"b": 2, "a": 1}"#));
        assert!(first == other && !Arc::ptr_eq(&first, &other), "{}", json!(other));
        drop(first);
        assert_eq!(shared.0.len(), 2);
        drop(shared.share(&with_schema(r#"{"c": 3}"#)));
        assert_eq!(shared.0.len(), 2, "no run has the first any more");
    }
}
