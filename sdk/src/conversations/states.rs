//! States that a run has loaded in chunks, converted to the items in them.

use std::collections::{BTreeMap, HashMap};

use temporal_agents_core::wire::{Item, RunState};

use super::pending::{Pending, chunk_of};

/// The chunks found so far, by the prefix of their activity ids.
#[derive(Debug, Default)]
pub(super) struct States(HashMap<String, BTreeMap<usize, String>>);

impl States {
    /// Adds a chunk that this activity has loaded. The last chunk resolves the references to items
    /// of its state.
    ///
    /// # Errors
    /// The chunks do not form a state.
    pub(super) fn take(
        &mut self,
        activity: &str,
        chunk: String,
        pending: &mut Pending,
    ) -> Result<(), serde_json::Error> {
        let Some((begins, count)) = pending.state_of(activity) else { return Ok(()) };
        let Some(number) = chunk_of(activity, &begins) else { return Ok(()) };
        // Chunks are stored as they are found, without allocating for `count`, which comes from the
        // request.
        let chunks = self.0.entry(begins.clone()).or_default();
        if number < count {
            chunks.insert(number, chunk);
        }
        if chunks.len() < count {
            return Ok(());
        }
        let text: String = self.0.remove(&begins).into_iter().flat_map(BTreeMap::into_values).collect();
        let state: RunState = serde_json::from_str(&text)?;
        let items: Vec<Item> = state.items_in_order().into_iter().cloned().collect();
        pending.loaded(&begins, &items);
        Ok(())
    }
}
