//! What a run's conversation holds so far, so that each call shows what is new in it.

use std::collections::BTreeMap;

use crate::wire::{Item, ItemDigest};

/// What the calls of a run have been given and answered.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// How often each item was there at most: who says the same twice says something new.
    seen: BTreeMap<ItemDigest, usize>,
    /// By agent.
    instructions: BTreeMap<String, Option<String>>,
    latest: Option<(String, Vec<Item>)>,
    /// How often each item is in the input of the latest call.
    counts: BTreeMap<ItemDigest, usize>,
}

impl Conversation {
    /// The latest call whose input is known.
    pub(super) fn latest(&self) -> Option<(&str, &[Item])> {
        self.latest.as_ref().map(|(activity_id, items)| (&**activity_id, &**items))
    }

    /// Takes in a call, and gives the items of its input that are new.
    pub(super) fn take(&mut self, activity_id: &str, input: Vec<Item>, output: &[Item]) -> Vec<Item> {
        let latest = self.latest.take().map_or_else(Vec::new, |(_, items)| items);
        let goes_on = latest.len() <= input.len()
            && latest
                .iter()
                .zip(&input)
                .all(|(one, other)| one.is_shared_with(other) || one.digest() == other.digest());
        if !goes_on {
            self.counts.clear();
        }
        let mut new = Vec::new();
        // What the latest call was given as well is counted already.
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

    /// The agent's instructions, where they are not what they were at its call before.
    pub(super) fn new_instructions(&mut self, agent: &str, instructions: Option<&str>) -> Option<String> {
        let instructions = instructions.map(str::to_owned);
        let before = self.instructions.insert(agent.to_owned(), instructions.clone());
        instructions.filter(|now| before.flatten().as_ref() != Some(now))
    }
}

#[cfg(test)]
mod tests;
