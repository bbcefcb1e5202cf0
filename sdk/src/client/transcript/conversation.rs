//! The conversation of a run so far, which determines the new items of each call.

use std::collections::BTreeMap;

use temporal_agents_core::wire::{Item, ItemDigest};

/// The inputs and outputs of a run's model calls.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The highest number of occurrences of each item in one call: an item that occurs once more
    /// than before is new.
    seen: BTreeMap<ItemDigest, usize>,
    /// The latest instructions, by agent.
    instructions: BTreeMap<String, Option<String>>,
    latest: Option<(String, Vec<Item>)>,
    /// The number of occurrences of each item in the input of the latest call.
    counts: BTreeMap<ItemDigest, usize>,
}

impl Conversation {
    /// Returns the activity id and the input of the latest call whose input is known.
    pub(super) fn latest(&self) -> Option<(&str, &[Item])> {
        self.latest.as_ref().map(|(activity_id, items)| (&**activity_id, &**items))
    }

    /// Adds a call, and returns the new items of its input.
    pub(super) fn take(&mut self, activity_id: &str, input: Vec<Item>, output: &[Item]) -> Vec<Item> {
        let latest = self.latest.take().map_or_else(Vec::new, |(_, items)| items);
        let goes_on = latest.len() <= input.len()
            && latest
                .iter()
                .zip(&input)
                .all(|(one, other)| one.is_shared_with(other) || one.digest() == other.digest());
        // An input that does not extend the latest one is counted from its beginning.
        if !goes_on {
            self.counts.clear();
        }
        let mut new = Vec::new();
        // The items of the latest call's input are already counted.
        for item in input.iter().skip(if goes_on { latest.len() } else { 0 }) {
            let count = self.counts.entry(item.digest()).or_default();
            *count += 1;
            let seen = self.seen.entry(item.digest()).or_default();
            if *count > *seen {
                *seen = *count;
                new.push(item.clone());
            }
        }
        let mut answered = BTreeMap::new();
        for item in output {
            let given = self.counts.get(&item.digest()).copied().unwrap_or(0);
            let count = answered.entry(item.digest()).or_insert(given);
            *count += 1;
            let seen = self.seen.entry(item.digest()).or_default();
            *seen = (*seen).max(*count);
        }
        self.latest = Some((activity_id.to_owned(), input));
        new
    }

    /// Returns the agent's instructions if they differ from those of its previous call.
    pub(super) fn new_instructions(&mut self, agent: &str, instructions: Option<&str>) -> Option<String> {
        let instructions = instructions.map(str::to_owned);
        let before = self.instructions.insert(agent.to_owned(), instructions.clone());
        instructions.filter(|now| before.flatten().as_ref() != Some(now))
    }
}

#[cfg(test)]
mod tests;
