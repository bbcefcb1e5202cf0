//! An index, by content, of the items that a workflow's history contains. With it the input of a
//! call is written as references.
//!
//! Pure and ordered: the references it writes depend only on the calls and results recorded in it
//! before. It guarantees that a reference names an item equal to the intended one. The reader has
//! to verify that history still contains the item, unchanged; the digest of the whole shows this.
//!
//! # Design
//! **References are by content.** The ledger looks up an item by its digest, and compares the JSON
//! text, including the order of members. So a filter may trim, prepend or reorder, and providers
//! get byte for byte what they would get in full (`tests/tests/it/linear_history.rs`).
//!
//! **Only answered calls are referred to.** `Ledger::answered` records them in the order in which
//! the workflow receives their answers, so that replay writes the same references. The ledger
//! belongs to a `Runner` and its clones: consecutive runs, as in a chat, refer to items that
//! earlier runs recorded. Each run, and each nested run, is a conversation of its own in it. Tool
//! results of up to 256 bytes are repeated, because a reference would be as long.
//!
//! **Local activities and the inline host send everything,** because history does not contain their
//! inputs.

mod definitions;
mod rest;
mod segments;

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use self::{
    definitions::DefinitionsEntry,
    segments::{List, Place, Segments},
};
use super::{Conversation, WORTH_A_REFERENCE};
use crate::wire::{
    Definitions, DigestChain, Item, ItemDigest, RunState, ToolOutput, definitions::DefinitionsPart, digest::Digest,
};

/// Maximum number of conversations that are remembered as a whole. A forgotten one costs more
/// references, not more items.
const MAX_CONVERSATIONS: usize = 64;

/// The items and definitions that history contains, for all conversations of one workflow run.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The latest answered call of each conversation, and its input; the most recently answered one
    /// last.
    chains: Vec<(Rc<str>, Given)>,
    /// Place of each item that an answered call, a recording or a loaded state contains; the latest
    /// place counts.
    held: BTreeMap<ItemDigest, (Item, Place)>,
    /// Results of tools, by call id, the latest last. They are not digested here; the item is
    /// digested where it appears in an input.
    returned: BTreeMap<String, Vec<Returned>>,
    /// Definitions that calls were sent with, the latest last.
    definitions: VecDeque<DefinitionsEntry>,
}

/// A call in references, and the data to record once it is answered.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The input in the form in which it is sent.
    pub conversation: Conversation,
    /// The definitions in the form in which they are sent.
    pub definitions: DefinitionsPart,
    /// The data to record once the call is answered.
    pub noted: Noted,
}

/// The input of a call, kept until the call is answered.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Input of the call that this call continues. Shared, so that a long conversation is not
    /// copied. The first `shared` of its items are the first items of this call.
    base: Rc<Vec<Link>>,
    shared: usize,
    /// The items after these.
    rest: Vec<Link>,
    /// Indexes in `rest` of the items that are sent in full.
    inline: Vec<usize>,
    /// The definitions, if they are sent in full, or if the ledger has only their digest.
    definitions: Option<(Digest, Box<Definitions>)>,
}

/// An item of an input, and the digest of the input up to and including it.
#[derive(Clone, Debug)]
struct Link {
    item: Item,
    chain: DigestChain,
}

#[derive(Clone, Debug)]
/// An answered call, with its input.
struct Given {
    activity_id: Rc<str>,
    items: Rc<Vec<Link>>,
}

/// The result of a tool, and the activity whose result it is in history.
#[derive(Clone, Debug)]
struct Returned {
    activity_id: Rc<str>,
    output: ToolOutput,
}

impl Folded {
    /// Returns the items that are sent in full.
    pub fn inline_items(&self) -> impl Iterator<Item = &Item> {
        self.noted.inline_items().map(|(_, item)| item)
    }
}

impl Noted {
    /// Returns the items that are sent in full, with their indexes in the input.
    fn inline_items(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.inline.iter().map(|place| (self.shared + place, &self.rest[*place].item))
    }
}

impl Ledger {
    /// Converts a call of this conversation to references to history, where history contains its
    /// parts.
    pub fn fold(&self, chain: &str, definitions: &Definitions, input: &[Item]) -> Folded {
        let (definitions, to_define) = if let Some(entry) = self.defined(definitions) {
            (entry.reference(), entry.to_wake(definitions))
        } else {
            let inline = DefinitionsPart::inline(definitions.clone());
            let to_define = match &inline {
                DefinitionsPart::Inline { digest, definitions } => Some((digest.clone(), definitions.clone())),
                _ => None,
            };
            (inline, to_define)
        };
        let base = self.base(chain, input);
        let latest = base.map_or_else(Rc::default, |base| Rc::clone(&base.items));
        let shared = shared(&latest, input);
        let mut chain = latest[..shared].last().map_or_else(DigestChain::empty, |last| last.chain);
        let mut segments = Segments::default();
        if let (Some(base), true) = (base, shared > 0) {
            segments.refer(base.place(0), shared);
        }
        // Indexes in the continued call of items that this input may have at another index.
        let moved = if shared < latest.len() { base.map(Given::places).unwrap_or_default() } else { BTreeMap::new() };
        let (mut rest, mut inline) = (Vec::with_capacity(input.len() - shared), Vec::new());
        for item in &input[shared..] {
            let digest = item.digest();
            chain = chain.then(digest);
            let has = |place: &Place| self.has(base, place, item, digest);
            // The place after the last reference comes first, because it extends a segment instead
            // of adding one.
            let next = segments.next().filter(has);
            let in_base = || Some(base?.place(*moved.get(&digest)?)).filter(has);
            if let Some(found) = next.or_else(in_base).or_else(|| self.place(item, digest)) {
                segments.refer(found, 1);
            } else {
                inline.push(rest.len());
                segments.repeat(item);
            }
            rest.push(Link { item: item.clone(), chain });
        }
        let conversation =
            Conversation { segments: segments.finish(), count: number(input.len()), digest: chain.digest() };
        let noted = Noted { base: latest, shared, rest, inline, definitions: to_define };
        Folded { conversation, definitions, noted }
    }

    /// Records that a call was answered: history contains its input and its output, and later calls
    /// may refer to them.
    pub fn answered(&mut self, chain: &str, activity_id: &str, noted: Noted, output: &[Item]) {
        let activity_id: Rc<str> = activity_id.into();
        let here = List::Call { activity_id: Rc::clone(&activity_id) };
        let given = noted.shared + noted.rest.len();
        for (place, item) in noted.inline_items().chain((given..).zip(output)) {
            self.hold(item, Place::In { list: here.clone(), index: number(place) });
        }
        let Noted { base, shared, rest, inline: _, definitions } = noted;
        if let Some((digest, definitions)) = definitions {
            self.define(&activity_id, digest, definitions);
        }
        // The chain moves to the end; at the limit the one that was answered longest ago is
        // forgotten.
        let known = self.chains.iter().position(|(of, _)| **of == *chain);
        if let Some(place) = known {
            self.chains.remove(place);
        } else if self.chains.len() == MAX_CONVERSATIONS {
            self.chains.remove(0);
        }
        // No copy is made if the call continues its own conversation, whose entry was the only
        // other owner and is removed by now.
        let mut items = Rc::unwrap_or_clone(base);
        items.truncate(shared);
        items.extend(rest);
        self.chains.push((chain.into(), Given { activity_id, items: Rc::new(items) }));
    }

    /// Records the result that a tool activity has returned for a call.
    pub fn returned(&mut self, activity_id: &str, call_id: &str, output: &ToolOutput) {
        let is_above_reference_size = match output {
            // The text is most of the item, so the exact length of the item matters only if the
            // text alone is too short.
            ToolOutput::Text(text) if text.len() > WORTH_A_REFERENCE => true,
            _ => Item::function_call_output(call_id, output.clone().into_value()).json_len() > WORTH_A_REFERENCE,
        };
        if is_above_reference_size {
            let returned = Returned { activity_id: activity_id.into(), output: output.clone() };
            self.returned.entry(call_id.to_owned()).or_default().push(returned);
        }
    }

    /// Records items that an activity of their own has put into history.
    pub fn recorded(&mut self, activity_id: &str, items: &[Item]) {
        self.insert_items(items, &List::Recorded { activity_id: activity_id.into() });
    }

    /// Records the items of the state with which the workflow run began, loaded in `chunks` chunks.
    pub fn loaded(&mut self, activity_id: &str, chunks: usize, state: &RunState) {
        let list = List::State { activity_id: activity_id.into(), chunks: number(chunks) };
        self.insert_items(state.items_in_order(), &list);
    }

    /// Returns `true` if history contains the item.
    pub fn holds(&self, item: &Item) -> bool {
        self.place(item, item.digest()).is_some()
    }

    /// Merges the entries of another ledger into this one, where they take precedence.
    pub fn take_over(&mut self, other: Self) {
        let Self { chains, held, returned, definitions: defined } = other;
        self.held.extend(held);
        for (call_id, returned) in returned {
            self.returned.entry(call_id).or_default().extend(returned);
        }
        // An entry of the other ledger replaces the one of the same conversation. The oldest
        // entries over the limits are dropped.
        self.chains.retain(|(chain, _)| chains.iter().all(|(other, _)| other != chain));
        self.chains.extend(chains);
        self.chains.drain(..self.chains.len().saturating_sub(MAX_CONVERSATIONS));
        self.definitions.extend(defined);
        self.definitions.drain(..self.definitions.len().saturating_sub(definitions::MAX_DEFINITIONS));
    }

    fn insert_items<'i>(&mut self, items: impl IntoIterator<Item = &'i Item>, list: &List) {
        for (place, item) in items.into_iter().enumerate() {
            self.hold(item, Place::In { list: list.clone(), index: number(place) });
        }
    }

    fn hold(&mut self, item: &Item, place: Place) {
        self.held.insert(item.digest(), (item.clone(), place));
    }

    /// Returns the call that this one continues: the latest of its conversation, otherwise the one
    /// with the most items in common, as when a chat begins its next run.
    fn base(&self, chain: &str, input: &[Item]) -> Option<&Given> {
        let own = self.chains.iter().find(|(of, _)| **of == *chain).map(|(_, given)| given);
        own.or_else(|| {
            let all = self.chains.iter().map(|(_, given)| (shared(&given.items, input), given));
            all.filter(|(shared, _)| *shared > 0).max_by_key(|(shared, _)| *shared).map(|(_, given)| given)
        })
    }

    /// Returns `true` if history has this item at this place.
    fn has(&self, base: Option<&Given>, place: &Place, item: &Item, digest: ItemDigest) -> bool {
        // `held` has only the latest place of an item, so a place in the continued call is checked
        // in that call.
        if let Place::In { list: List::Call { activity_id }, index } = place
            && let Some(base) = base.filter(|base| base.activity_id == *activity_id)
            && let Some(link) = usize::try_from(*index).ok().and_then(|index| base.items.get(index))
        {
            return is_same(&link.item, item);
        }
        self.held.get(&digest).is_some_and(|(held, at)| at == place && is_same(held, item))
    }

    fn place(&self, item: &Item, digest: ItemDigest) -> Option<Place> {
        match self.held.get(&digest) {
            Some((held, place)) => is_same(held, item).then(|| place.clone()),
            None => self.place_of_result(item),
        }
    }

    fn place_of_result(&self, item: &Item) -> Option<Place> {
        let call_id = item.call_id()?;
        // A call id may occur several times, so the output is compared, the latest first.
        let mut returned = self.returned.get(call_id)?.iter().rev();
        let of_item = returned.find(|returned| is_output(item, call_id, &returned.output))?;
        Some(Place::Tool { activity_id: Rc::clone(&of_item.activity_id) })
    }
}

impl Given {
    fn place(&self, index: u32) -> Place {
        let list = List::Call { activity_id: Rc::clone(&self.activity_id) };
        Place::In { list, index }
    }

    fn places(&self) -> BTreeMap<ItemDigest, u32> {
        self.items.iter().enumerate().map(|(place, link)| (link.item.digest(), number(place))).collect()
    }
}

/// Returns the number of items at the beginning that are the same.
fn shared(latest: &[Link], input: &[Item]) -> usize {
    latest.iter().zip(input).take_while(|(link, item)| is_same(&link.item, item)).count()
}

/// Returns `true` if two items have the same JSON text, including the order of members: a provider
/// must get what it would get in full.
fn is_same(one: &Item, other: &Item) -> bool {
    one.is_shared_with(other) || (one.digest() == other.digest() && one.has_same_json(other))
}

/// Returns `true` if an item has the JSON text of [`Item::function_call_output`] for this output.
fn is_output(item: &Item, call_id: &str, output: &ToolOutput) -> bool {
    let ToolOutput::Text(text) = output else {
        return item.has_same_json(&Item::function_call_output(call_id, output.clone().into_value()));
    };
    let members = [("type", "function_call_output"), ("call_id", call_id), ("output", text)];
    let object = item.as_object();
    object.len() == members.len()
        && object.iter().zip(members).all(|((name, value), (expected, text))| name == expected && value == text)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a conversation has fewer than 2^32 items")
}

#[cfg(test)]
mod tests;
