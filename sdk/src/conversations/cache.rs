//! The conversations that a worker remembers, so that it does not have to read them from history.
//!
//! Stored by workflow run, then by activity: the inputs and outputs of model calls, and the outputs
//! of tools. The contents are not trusted: the caller checks the digest of the entire conversation
//! before a model receives it.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::Arc,
    time::{Duration, Instant},
};

use temporal_agents_core::wire::{Definitions, Item, ItemDigest, conversation::CallPart, digest::Digest};

use super::{
    pending::Reference,
    shared_definitions::{SharedDefinitions, len_of},
};

/// The time after which an unused run counts as idle. When the cache is full, idle runs are removed
/// as well.
const IDLE: Duration = Duration::from_mins(30);
/// The maximum number of model calls that are kept of a run; only the latest call of each
/// conversation is needed.
const CALLS: usize = 256;
/// The maximum number of definitions that are kept of a run.
const DEFINITIONS: usize = 256;
/// The maximum number of tool results that are kept of a run; the input of the next model call
/// includes them.
const TOOLS: usize = 1024;
/// The approximate size of an entry without its text, in bytes.
const OVERHEAD: usize = 64;

/// The key of a workflow run. It comes from the activity's own info, never from a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RunKey {
    pub(crate) namespace: String,
    pub(crate) workflow_id: String,
    pub(crate) run_id: String,
}

/// The conversations of all runs, up to a total size.
#[derive(Debug)]
pub(super) struct Cache {
    most_bytes: usize,
    bytes: usize,
    runs: HashMap<RunKey, Run>,
    /// The runs in the order of their last use, the least recently used first.
    order: BTreeMap<u64, RunKey>,
    uses: u64,
    definitions: SharedDefinitions,
}

/// The remembered parts of a workflow run.
#[derive(Debug)]
struct Run {
    used: Instant,
    /// Key of the run in `Cache::order`.
    use_number: u64,
    bytes: usize,
    /// The model calls, the latest last.
    calls: VecDeque<Call>,
    definitions: VecDeque<(String, Digest, Arc<Definitions>)>,
    tools: VecDeque<(String, Item)>,
    /// The number of references to each item; items are shared between calls, and their size is
    /// counted once.
    items: HashMap<ItemDigest, usize>,
}

#[derive(Debug)]
struct Call {
    activity_id: String,
    /// Activity id of the call whose conversation this one continues. That call is no longer needed
    /// once this one has a response.
    continues: Option<String>,
    given: Vec<Item>,
    answered: Vec<Item>,
}

impl Cache {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            bytes: 0,
            runs: HashMap::new(),
            order: BTreeMap::new(),
            uses: 0,
            definitions: SharedDefinitions::default(),
        }
    }

    /// Returns the size of the remembered text, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the items of a reference, if they are remembered.
    pub(super) fn items(&mut self, key: &RunKey, reference: &Reference) -> Option<Vec<Item>> {
        self.use_now(key);
        let run = self.runs.get_mut(key)?;
        match reference {
            Reference::Tool { activity_id } => {
                run.tools.iter().rev().find(|(of, _)| of == activity_id).map(|(_, item)| vec![item.clone()])
            }
            // A state is needed only once, by the first call of a run that has loaded it.
            Reference::State { .. } => None,
            Reference::Recorded { activity_id, start, end } => {
                let call = run.calls.iter().rev().find(|call| call.activity_id == *activity_id)?;
                call.given.get(*start..*end).map(<[Item]>::to_vec)
            }
            Reference::Call { activity_id, part, start, end } => {
                let call = run.calls.iter().rev().find(|call| call.activity_id == *activity_id)?;
                match part {
                    Some(CallPart::Given) => call.given.get(*start..*end).map(<[Item]>::to_vec),
                    Some(CallPart::Answered) => call.answered.get(*start..*end).map(<[Item]>::to_vec),
                    None => {
                        let all = call.given.iter().chain(&call.answered);
                        let items: Vec<Item> = all.skip(*start).take(end.saturating_sub(*start)).cloned().collect();
                        (items.len() == end.saturating_sub(*start)).then_some(items)
                    }
                }
            }
        }
    }

    /// Returns the definitions of a call, if they are remembered and have this digest.
    pub(super) fn definitions(&self, key: &RunKey, activity_id: &str, digest: &Digest) -> Option<Arc<Definitions>> {
        let known = self.runs.get(key)?.definitions.iter();
        known
            .rev()
            .find(|(of, has, _)| of == activity_id && has == digest)
            .map(|(.., definitions)| Arc::clone(definitions))
    }

    /// Records the input of a model call whose digest was checked, or the items of an activity that
    /// only records them.
    pub(super) fn given(&mut self, key: &RunKey, activity_id: &str, given: &[Item], continues: Option<String>) {
        let given = given.to_vec();
        self.change(key, |run| {
            run.forget(activity_id);
            run.add(&given);
            let activity_id = activity_id.to_owned();
            run.calls.push_back(Call { activity_id, continues, given, answered: Vec::new() });
            while run.calls.len() > CALLS {
                let Some(oldest) = run.calls.front().map(|call| call.activity_id.clone()) else { break };
                run.forget(&oldest);
            }
        });
    }

    /// Records the definitions that were inline in a model call and whose digest was checked.
    pub(super) fn defined(&mut self, key: &RunKey, activity_id: &str, digest: &Digest, definitions: &Definitions) {
        let (shared, bytes) = self.definitions.share(definitions);
        self.change(key, |run| {
            if run.definitions.iter().any(|(of, has, _)| of == activity_id && has == digest) {
                return;
            }
            if run.definitions.len() == DEFINITIONS
                && let Some((.., oldest)) = run.definitions.pop_front()
            {
                run.bytes = run.bytes.saturating_sub(len_of(&oldest));
            }
            run.bytes += bytes;
            run.definitions.push_back((activity_id.to_owned(), digest.clone(), shared));
        });
    }

    /// Records the output of a model call.
    pub(super) fn answered(&mut self, key: &RunKey, activity_id: &str, answered: &[Item]) {
        self.change(key, |run| {
            if run.calls.iter().any(|call| call.activity_id == activity_id) {
                run.add(answered);
            }
            let mut before = None;
            for call in run.calls.iter_mut().filter(|call| call.activity_id == activity_id) {
                before = call.continues.take();
                for item in std::mem::replace(&mut call.answered, answered.to_vec()) {
                    drop_one(&mut run.items, &mut run.bytes, &item);
                }
            }
            // The previous call may belong to another conversation, which can still continue; it is
            // then kept.
            if let Some(before) = before.filter(|before| conversation_of(before) == conversation_of(activity_id)) {
                run.forget(&before);
            }
        });
    }

    /// Records the output of a tool activity.
    pub(super) fn returned(&mut self, key: &RunKey, activity_id: &str, item: Item) {
        self.change(key, |run| {
            run.add(std::slice::from_ref(&item));
            run.tools.push_back((activity_id.to_owned(), item));
            if run.tools.len() > TOOLS
                && let Some((_, oldest)) = run.tools.pop_front()
            {
                drop_one(&mut run.items, &mut run.bytes, &oldest);
            }
        });
    }

    /// Removes a run.
    pub(super) fn forget(&mut self, key: &RunKey) {
        if let Some(run) = self.runs.remove(key) {
            self.bytes = self.bytes.saturating_sub(run.bytes);
            self.order.remove(&run.use_number);
        }
    }

    fn change(&mut self, key: &RunKey, change: impl FnOnce(&mut Run)) {
        if self.most_bytes == 0 {
            return;
        }
        let before = self.runs.get(key).map_or(0, |run| run.bytes);
        let run = self.runs.entry(key.clone()).or_insert_with(Run::new);
        change(run);
        self.bytes = (self.bytes + run.bytes).saturating_sub(before);
        if run.bytes > self.most_bytes {
            // A run that does not fit does not displace the others.
            self.forget(key);
        }
        self.use_now(key);
        self.make_room();
    }

    fn use_now(&mut self, key: &RunKey) {
        let Some(run) = self.runs.get_mut(key) else { return };
        let key = self.order.remove(&run.use_number).unwrap_or_else(|| key.clone());
        self.uses += 1;
        (run.used, run.use_number) = (Instant::now(), self.uses);
        self.order.insert(self.uses, key);
    }

    /// If the cache is full, removes the least recently used runs until there is room, and then
    /// those that are idle.
    fn make_room(&mut self) {
        let is_full = |cache: &Self| cache.bytes > cache.most_bytes;
        let mut makes_room = is_full(self);
        while makes_room && let Some((_, oldest)) = self.order.first_key_value() {
            let oldest = oldest.clone();
            self.forget(&oldest);
            let next = self.order.first_key_value().and_then(|(_, next)| self.runs.get(next));
            makes_room = is_full(self) || next.is_some_and(|next| next.used.elapsed() > IDLE);
        }
    }
}

impl Run {
    fn new() -> Self {
        Self {
            used: Instant::now(),
            use_number: 0,
            bytes: OVERHEAD,
            calls: VecDeque::new(),
            definitions: VecDeque::new(),
            tools: VecDeque::new(),
            items: HashMap::new(),
        }
    }

    fn add(&mut self, items: &[Item]) {
        for item in items {
            let count = self.items.entry(item.digest()).or_default();
            if *count == 0 {
                self.bytes += item.json_len() + OVERHEAD;
            }
            *count += 1;
        }
        self.bytes += size_of_val(items);
    }

    fn forget(&mut self, activity_id: &str) {
        let Some(place) = self.calls.iter().position(|call| call.activity_id == activity_id) else { return };
        let Some(Call { activity_id: _, continues: _, given, answered }) = self.calls.remove(place) else {
            return;
        };
        for item in given.iter().chain(&answered) {
            drop_one(&mut self.items, &mut self.bytes, item);
        }
    }
}

/// Returns the prefix of the ids of all model calls of a conversation: `k3x9q2ab` of
/// `k3x9q2ab-4-model`.
fn conversation_of(activity_id: &str) -> &str {
    let turn = activity_id.rsplit_once("-model").map_or(activity_id, |(turn, _)| turn);
    turn.rsplit_once('-').map_or(turn, |(conversation, _)| conversation)
}

fn drop_one(items: &mut HashMap<ItemDigest, usize>, bytes: &mut usize, item: &Item) {
    *bytes = bytes.saturating_sub(size_of::<Item>());
    let Some(count) = items.get_mut(&item.digest()) else { return };
    *count -= 1;
    if *count == 0 {
        items.remove(&item.digest());
        *bytes = bytes.saturating_sub(item.json_len() + OVERHEAD);
    }
}

#[cfg(test)]
mod tests;
