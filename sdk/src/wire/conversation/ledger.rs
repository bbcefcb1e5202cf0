//! What a workflow's history holds of its conversations, by content; with it a call's input is written in references.
//!
//! Pure and ordered: what it writes depends only on what was noted before. It promises that a reference names an item equal to
//! the one that is meant. That history still has it, and that it is what it was, is for the reader to find out; the digest of
//! the whole tells.

use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use super::{CallPart, Conversation, InputSegment, WORTH_A_REFERENCE};
use crate::wire::{Definitions, DefinitionsPart, Digest, DigestChain, Item, ItemDigest, ToolOutput};

/// How many definitions are remembered: agents that take turns, or tools that come and go.
const DEFINITIONS: usize = 32;

/// What history holds, for the calls of one chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// The latest call that was answered, and what it was given.
    latest: Option<Given>,
    /// Where each item is that came up in a call that was answered, or that a tool returned; the latest place counts.
    held: BTreeMap<ItemDigest, (Item, Place)>,
    /// The definitions that calls were given, the latest last.
    definitions: VecDeque<Defined>,
}

/// An input in references, and what is to be noted once the call is answered.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    /// The input as it travels.
    pub(crate) conversation: Conversation,
    given: Vec<Link>,
    /// The places of the items that travel themselves.
    inline: Vec<usize>,
}

/// An item of an input, and the digest of the input up to it.
#[derive(Clone, Debug)]
struct Link {
    item: Item,
    chain: DigestChain,
}

#[derive(Clone, Debug)]
struct Given {
    activity_id: Rc<str>,
    items: Vec<Link>,
}

/// Where history has an item.
#[derive(Clone, Debug, PartialEq)]
enum Place {
    Call { activity_id: Rc<str>, part: CallPart, index: u32 },
    Tool { activity_id: Rc<str> },
}

#[derive(Clone, Debug)]
struct Defined {
    activity_id: Rc<str>,
    digest: Digest,
    /// As text: the order of schema members reaches the model.
    json: String,
}

impl Ledger {
    /// The input of a call, in references where history has its items.
    pub(crate) fn fold(&self, input: &[Item]) -> Folded {
        let latest = self.latest.as_ref().map_or(&[][..], |latest| &*latest.items);
        let shared = latest.iter().zip(input).take_while(|(link, item)| is_same(&link.item, item)).count();
        let mut given = Vec::with_capacity(input.len());
        given.extend_from_slice(&latest[..shared]);
        let mut chain = given.last().map_or_else(DigestChain::empty, |last| last.chain);
        let mut segments = Segments::default();
        if shared > 0 {
            segments.refer(self.latest_place(0), shared);
        }
        // Where the latest call had items that are not where they were.
        let moved = if shared < latest.len() { self.places_in_latest() } else { BTreeMap::new() };
        let mut inline = Vec::new();
        for (place, item) in input.iter().enumerate().skip(shared) {
            let digest = item.digest();
            chain = chain.then(digest);
            given.push(Link { item: item.clone(), chain });
            let next = segments.next().filter(|next| self.has(next, item, digest));
            let found = next.or_else(|| moved.get(&digest).map(|index| self.latest_place(*index)));
            let found = found.filter(|place| self.has(place, item, digest)).or_else(|| self.place(item, digest));
            if let Some(found) = found {
                segments.refer(found, 1);
            } else {
                inline.push(place);
                segments.repeat(item);
            }
        }
        let conversation =
            Conversation { segments: segments.finish(), count: number(input.len()), digest: chain.digest() };
        Folded { conversation, given, inline }
    }

    /// Definitions, as a reference where an earlier call was given the same.
    pub(crate) fn define(&self, definitions: &Definitions) -> DefinitionsPart {
        match self.defined(definitions) {
            Some(Defined { activity_id, digest, json: _ }) => {
                DefinitionsPart::Call { activity_id: activity_id.to_string(), digest: digest.clone() }
            }
            None => DefinitionsPart::inline(definitions.clone()),
        }
    }

    /// A call was answered: what it was given and what it answered is in history, and may be referred to.
    pub(crate) fn answered(&mut self, activity_id: &str, definitions: &Definitions, folded: Folded, output: &[Item]) {
        let Folded { conversation: _, given, inline } = folded;
        let activity_id: Rc<str> = activity_id.into();
        let here = |part, place| Place::Call { activity_id: Rc::clone(&activity_id), part, index: number(place) };
        for place in inline {
            let item = given[place].item.clone();
            self.held.insert(item.digest(), (item, here(CallPart::Given, place)));
        }
        for (place, item) in output.iter().enumerate() {
            self.held.insert(item.digest(), (item.clone(), here(CallPart::Answered, place)));
        }
        if self.defined(definitions).is_none() {
            if self.definitions.len() == DEFINITIONS {
                self.definitions.pop_front();
            }
            let (digest, json) = (definitions.digest(), definitions.json());
            self.definitions.push_back(Defined { activity_id: Rc::clone(&activity_id), digest, json });
        }
        self.latest = Some(Given { activity_id, items: given });
    }

    /// A tool activity has returned this for a call.
    pub(crate) fn returned(&mut self, activity_id: &str, call_id: &str, output: &ToolOutput) {
        let item = Item::function_call_output(call_id, output.clone().into_value());
        if item.json_len() > WORTH_A_REFERENCE {
            self.held.insert(item.digest(), (item, Place::Tool { activity_id: activity_id.into() }));
        }
    }

    fn defined(&self, definitions: &Definitions) -> Option<&Defined> {
        let json = definitions.json();
        self.definitions.iter().rev().find(|defined| defined.json == json)
    }

    fn latest_place(&self, index: u32) -> Place {
        let activity_id = self.latest.as_ref().map_or_else(|| "".into(), |latest| Rc::clone(&latest.activity_id));
        Place::Call { activity_id, part: CallPart::Given, index }
    }

    fn places_in_latest(&self) -> BTreeMap<ItemDigest, u32> {
        let links = self.latest.iter().flat_map(|latest| &latest.items);
        links.enumerate().map(|(place, link)| (link.item.digest(), number(place))).collect()
    }

    /// Whether history has this item at this place.
    fn has(&self, place: &Place, item: &Item, digest: ItemDigest) -> bool {
        if let (Some(latest), Place::Call { activity_id, part: CallPart::Given, index }) = (&self.latest, place)
            && latest.activity_id == *activity_id
        {
            return usize::try_from(*index)
                .is_ok_and(|index| latest.items.get(index).is_some_and(|link| is_same(&link.item, item)));
        }
        self.held.get(&digest).is_some_and(|(held, at)| at == place && is_same(held, item))
    }

    fn place(&self, item: &Item, digest: ItemDigest) -> Option<Place> {
        let (held, place) = self.held.get(&digest)?;
        is_same(held, item).then(|| place.clone())
    }
}

/// The segments of an input, one after another.
#[derive(Default)]
struct Segments(Vec<InputSegment>);

impl Segments {
    /// The place that the last segment would have next.
    fn next(&self) -> Option<Place> {
        let InputSegment::Call { activity_id, part, start: _, end } = self.0.last()? else { return None };
        Some(Place::Call { activity_id: (**activity_id).into(), part: *part, index: *end })
    }

    /// So many items, the first of them at this place.
    fn refer(&mut self, place: Place, count: usize) {
        match place {
            Place::Tool { activity_id } => {
                self.0.push(InputSegment::ToolResult { activity_id: activity_id.to_string() });
            }
            Place::Call { activity_id, part, index } => {
                let new_end = index + number(count);
                if let Some(InputSegment::Call { activity_id: last, part: of, end, .. }) = self.0.last_mut()
                    && (&**last, *of, *end) == (&*activity_id, part, index)
                {
                    *end = new_end;
                    return;
                }
                let activity_id = activity_id.to_string();
                self.0.push(InputSegment::Call { activity_id, part, start: index, end: new_end });
            }
        }
    }

    /// The item itself.
    fn repeat(&mut self, item: &Item) {
        if let Some(InputSegment::Items { items }) = self.0.last_mut() {
            items.push(item.clone());
        } else {
            self.0.push(InputSegment::Items { items: vec![item.clone()] });
        }
    }

    fn finish(self) -> Vec<InputSegment> {
        self.0
    }
}

/// Whether two items are the same text, the order of members included: a provider is to get what it would get in full.
fn is_same(one: &Item, other: &Item) -> bool {
    one.is_shared_with(other) || (one.digest() == other.digest() && one.json() == other.json())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).expect("a conversation has fewer than 2^32 items")
}

#[cfg(test)]
mod tests;
