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
}

impl Conversation {
    /// The latest call whose input is known.
    pub(super) fn latest(&self) -> Option<(&str, &[Item])> {
        self.latest.as_ref().map(|(activity_id, items)| (&**activity_id, &**items))
    }

    /// Takes in a call, and gives the items of its input that are new.
    pub(super) fn take(&mut self, activity_id: &str, input: Vec<Item>, output: &[Item]) -> Vec<Item> {
        let mut here: BTreeMap<ItemDigest, usize> = BTreeMap::new();
        let mut count = |item: &Item| {
            let count = here.entry(item.digest()).or_default();
            *count += 1;
            *count
        };
        let is_new = |(item, count): &(&Item, usize)| *count > self.seen.get(&item.digest()).copied().unwrap_or(0);
        let counted: Vec<(&Item, usize)> = input.iter().map(|item| (item, count(item))).collect();
        let new = counted.into_iter().filter(is_new).map(|(item, _)| item.clone()).collect();
        for item in output {
            count(item);
        }
        for (digest, count) in here {
            let most = self.seen.entry(digest).or_default();
            *most = count.max(*most);
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
