//! Removes duplicate items from the input of a model.
//!
//! A conversation can hold an item twice: a caller passes an earlier run's items beside its own
//! copy, or a server emits an item again. Providers refuse duplicates. The latest content is kept;
//! a call or reasoning keeps its first place, because the following items depend on it, and any
//! other item moves to its last place.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use crate::wire::{Item, item::PLACEHOLDER_ID};

/// Remembers the items without duplicates from one call to the next, so that a conversation that
/// only grew is not compared from its beginning again.
#[derive(Debug, Default)]
pub struct Once {
    seen: Vec<Item>,
    /// Hashes of the identities of the seen items, sorted.
    hashes: Vec<u64>,
}

impl Once {
    /// Returns the result of [`once`] for these items.
    pub fn once(&mut self, items: Vec<Item>) -> Vec<Item> {
        let goes_on = items.len() >= self.seen.len() && self.seen.iter().zip(&items).all(|(a, b)| a.is_shared_with(b));
        if !goes_on {
            *self = Self::default();
        }
        for item in &items[self.seen.len()..] {
            if let Some(identity) = Identity::of(item) {
                let hash = identity.hashed();
                match self.hashes.binary_search(&hash) {
                    // Different identities may have equal hashes: only the full comparison decides.
                    Ok(_) => {
                        *self = Self::default();
                        return once(items);
                    }
                    Err(place) => self.hashes.insert(place, hash),
                }
            }
        }
        self.seen.extend_from_slice(&items[self.seen.len()..]);
        items
    }
}

/// Returns the items without duplicates. Items without an identity, messages among them, are all
/// kept.
pub fn once(items: Vec<Item>) -> Vec<Item> {
    let mut latest: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
    let mut repeats = false;
    for (place, item) in items.iter().enumerate() {
        if let Some(identity) = Identity::of(item) {
            repeats |= latest.insert(identity, place).is_some();
        }
    }
    if !repeats {
        return items;
    }
    let mut sent: BTreeSet<Identity<'_>> = BTreeSet::new();
    let mut kept = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let Some(identity) = Identity::of(item) else {
            kept.push(item.clone());
            continue;
        };
        let last = latest[&identity];
        if identity.keeps_its_place() {
            if sent.insert(identity) {
                kept.push(items[last].clone());
            }
        } else if place == last {
            kept.push(item.clone());
        }
    }
    kept
}

/// The identity of an item: its kind, and the id of its call, of the item, or of the approval that
/// it answers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Identity<'i> {
    // Compared first: ids differ, and kinds are few.
    id: &'i str,
    kind: &'i str,
}

impl<'i> Identity<'i> {
    fn of(item: &'i Item) -> Option<Self> {
        let kind = item.kind();
        if kind == "message" {
            return None;
        }
        let approval = || item.get("approval_request_id").and_then(|id| id.as_str());
        let id = item.call_id().or_else(|| item.id().filter(|id| *id != PLACEHOLDER_ID)).or_else(approval)?;
        Some(Self { id, kind })
    }

    fn hashed(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    fn keeps_its_place(&self) -> bool {
        const CALLS: [&str; 10] = [
            "function_call",
            "computer_call",
            "custom_tool_call",
            "local_shell_call",
            "shell_call",
            "apply_patch_call",
            "tool_search_call",
            "program",
            "mcp_approval_request",
            "reasoning",
        ];
        CALLS.contains(&self.kind)
    }
}

#[cfg(test)]
mod tests;
