//! Finds the places at which a conversation can be cut, and replaces the items of a run that was
//! shortened.
//!
//! The cut determines the start of the next execution: a change here is a change of a rule (see
//! CONTRIBUTING.md). A call and its output are never separated, nor reasoning and the item that it
//! led to: providers refuse one without the other.

use std::collections::{BTreeMap, BTreeSet};

use super::Engine;
use crate::wire::{Item, NewItem, RunState, run_state::TurnMark};

/// Returns the index of the first of the newest items that together have at most `most_bytes` bytes
/// of JSON. The newest group of items that cannot be separated is kept even if it is larger.
pub fn start_of_newest(items: &[NewItem], most_bytes: usize) -> usize {
    let allowed = cuts(items);
    let (mut bytes, mut best) = (0, None);
    for place in (0..items.len()).rev() {
        bytes += items[place].raw.json_len();
        // The first allowed cut counts even if it exceeds the limit: the newest group is always
        // kept.
        if allowed[place] && (bytes <= most_bytes || best.is_none()) {
            best = Some(place);
        }
        if bytes > most_bytes && best.is_some() {
            break;
        }
    }
    best.unwrap_or(0)
}

/// Returns the size of the items, in bytes of JSON.
pub fn json_len_of(items: &[NewItem]) -> usize {
    items.iter().map(|item| item.raw.json_len()).sum()
}

/// Checks that no items are separated in `after` that belong together in `before`.
///
/// # Errors
/// A message about the first separated item.
pub fn check_pairs(before: &[NewItem], after: &[NewItem]) -> Result<(), String> {
    let (pairs_before, pairs_after) = (Pairs::of(before), Pairs::of(after));
    if let Some(id) = pairs_after.orphan_outputs.iter().find(|id| !pairs_before.orphan_outputs.contains(id)) {
        return Err(format!("the output of call {id:?} is separated from its call"));
    }
    if let Some(id) = pairs_after.open_calls.iter().find(|id| !pairs_before.open_calls.contains(id)) {
        return Err(format!("call {id:?} is separated from its output"));
    }
    Reasoned::of(before).check(after)
}

/// Reasoning and the items right after it, by their JSON.
#[derive(Default)]
struct Reasoned {
    led_to: BTreeMap<String, BTreeSet<Option<String>>>,
    /// Items that followed reasoning in `led`, and items that did not in `free`.
    led: BTreeSet<String>,
    free: BTreeSet<String>,
}

impl Reasoned {
    fn of(items: &[NewItem]) -> Self {
        let mut reasoned = Self::default();
        for (before, item, next) in neighbours(items) {
            if is_reasoning(item) {
                reasoned.led_to.entry(json(item)).or_default().insert(next.map(json));
            } else if before.is_some_and(is_reasoning) {
                reasoned.led.insert(json(item));
            } else {
                reasoned.free.insert(json(item));
            }
        }
        reasoned
    }

    /// Checks that reasoning and the item after it are still together. An item that is not known
    /// from before is the author's own: it is not checked, but new reasoning needs an item after
    /// it.
    fn check(&self, items: &[NewItem]) -> Result<(), String> {
        for (before, item, next) in neighbours(items) {
            let text = json(item);
            if is_reasoning(item) {
                let is_whole = self.led_to.get(&text).map_or(next.is_some(), |known| known.contains(&next.map(json)));
                if !is_whole {
                    return Err("reasoning is separated from the item that it led to".to_owned());
                }
            } else if !before.is_some_and(is_reasoning) && self.led.contains(&text) && !self.free.contains(&text) {
                let id = item.raw.call_id().or_else(|| item.raw.id()).unwrap_or_default();
                return Err(format!("{} {id:?} is separated from the reasoning that led to it", item.raw.kind()));
            }
        }
        Ok(())
    }
}

/// Returns each item with the previous and the next one.
fn neighbours(items: &[NewItem]) -> impl Iterator<Item = (Option<&NewItem>, &NewItem, Option<&NewItem>)> {
    let before = |place: usize| place.checked_sub(1).and_then(|before| items.get(before));
    items.iter().enumerate().map(move |(place, item)| (before(place), item, items.get(place + 1)))
}

fn is_reasoning(item: &NewItem) -> bool {
    item.raw.kind() == "reasoning"
}

fn json(item: &NewItem) -> String {
    serde_json::to_string(&item.raw).unwrap_or_default()
}

/// Returns for each index if the conversation can be cut before it.
fn cuts(items: &[NewItem]) -> Vec<bool> {
    let mut allowed = vec![true; items.len()];
    for (call, output) in Pairs::of(items).spans {
        allowed[call + 1..=output].fill(false);
    }
    for (place, item) in items.iter().enumerate() {
        if is_reasoning(item)
            && let Some(next) = allowed.get_mut(place + 1)
        {
            *next = false;
        }
    }
    allowed
}

/// Calls and their outputs, by index.
#[derive(Default)]
struct Pairs {
    spans: Vec<(usize, usize)>,
    open_calls: Vec<String>,
    orphan_outputs: Vec<String>,
}

impl Pairs {
    fn of(items: &[NewItem]) -> Self {
        let mut pairs = Self::default();
        // Some providers reuse the ids of calls: an output belongs to the latest call before it.
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        for (place, item) in items.iter().enumerate() {
            match role(&item.raw) {
                Some(Role::Call(id)) => {
                    open.insert(id.to_owned(), place);
                }
                Some(Role::Output(id)) => match open.remove(id) {
                    Some(call) => pairs.spans.push((call, place)),
                    None => pairs.orphan_outputs.push(id.to_owned()),
                },
                None => {}
            }
        }
        pairs.open_calls = open.into_keys().collect();
        pairs
    }
}

enum Role<'i> {
    Call(&'i str),
    Output(&'i str),
}

fn role(item: &Item) -> Option<Role<'_>> {
    let kind = item.kind();
    if kind == "mcp_approval_request" {
        return item.id().map(Role::Call);
    }
    if kind == "mcp_approval_response" {
        return item.get("approval_request_id").and_then(|id| id.as_str()).map(Role::Output);
    }
    if item.output_kind().is_some() {
        return item.call_id().map(Role::Call);
    }
    item.call_id().filter(|_| kind.ends_with("_output")).map(Role::Output)
}

impl Engine {
    /// Replaces the items of the run, between two turns: the model now receives these items after
    /// the input, and the run drops all others. Items that were due for the session have been
    /// written.
    pub fn compact(&mut self, items: Vec<NewItem>) {
        let state: &mut RunState = &mut self.state;
        state.items = items;
        state.rewritten = None;
        let kept = state.items.len();
        if let Some(session) = &mut state.session {
            session.saved = kept;
        }
        state.turn_began = TurnMark::here(state);
    }
}

#[cfg(test)]
mod tests;
