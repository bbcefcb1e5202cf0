//! Removes calls without outputs from the input of a model: providers refuse them.

use std::collections::BTreeSet;

use crate::wire::Item;

/// Returns the items without calls that have no output among them, and without the reasoning that
/// led to such a call.
pub fn without_orphan_calls(items: Vec<Item>) -> Vec<Item> {
    if all_are_answered(&items) {
        return items;
    }
    // By call id first: ids differ, and kinds are few.
    let outputs: BTreeSet<(&str, &str)> =
        items.iter().filter_map(|item| Some((item.call_id()?, item.kind()))).collect();
    let is_orphan = |item: &Item| {
        item.output_kind().is_some_and(|output| item.call_id().is_none_or(|id| !outputs.contains(&(id, output))))
    };
    let mut keep = vec![true; items.len()];
    // From the end, because reasoning is removed together with the call after it.
    let mut next_is_orphan = false;
    for (place, item) in items.iter().enumerate().rev() {
        if item.kind() == "reasoning" {
            keep[place] = !next_is_orphan;
        } else {
            next_is_orphan = is_orphan(item);
            keep[place] = !next_is_orphan;
        }
    }
    if keep.iter().all(|keep| *keep) {
        return items;
    }
    items.into_iter().zip(keep).filter_map(|(item, keep)| keep.then_some(item)).collect()
}

/// Maximum number of calls without an output so far that the fast check tracks.
const OPEN: usize = 64;

/// Checks the common case fast: each call has its output after it. `false` means that only the full
/// check decides.
fn all_are_answered(items: &[Item]) -> bool {
    let mut open: Vec<(&str, &str)> = Vec::new();
    for item in items {
        let kind = item.kind();
        if let Some(output) = item.output_kind() {
            match item.call_id() {
                Some(id) if open.len() < OPEN => open.push((id, output)),
                _ => return false,
            }
        } else if !open.is_empty()
            && let Some(id) = item.call_id()
        {
            open.retain(|due| *due != (id, kind));
        }
    }
    open.is_empty()
}

#[cfg(test)]
mod tests;
