//! What a workflow's history holds of its conversations, by content; with it a call's input is written in references.
//!
//! Pure and ordered: what it writes depends only on what was noted before. It promises that a reference names an item equal to
//! the one that is meant. That history still has it, and that it is what it was, is for the reader to find out; the digest of
//! the whole tells.
//!
//! # Design
//! **References are by content.** The ledger looks an item up by its digest, and compares the JSON
//! text, order of members included. So a filter may trim, prepend or reorder, and providers get
//! byte for byte what they would get in full (`tests/tests/it/linear_history.rs`).
//!
//! **Only calls that were answered are referred to.** `Ledger::answered` records them in the order
//! in which the workflow learns of them, so that replay writes the same references. The ledger
//! belongs to a `Runner` and its clones: runs one after another, as in a chat, refer to what the
//! runs before recorded. Each run, and each run inside it, is a conversation of its own in it. Tool
//! results of up to 256 bytes are repeated: a reference would be as long.
//!
//! **Local activities and the inline host send everything.** They cost no history.

mod segments;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use self::segments::{List, Place, Segments};
use super::{Conversation, WORTH_A_REFERENCE};
use crate::wire::{Definitions, DefinitionsPart, Digest, DigestChain, Item, ItemDigest, RunState, ToolOutput};

/// How many definitions are remembered: agents that take turns, or tools that come and go.
const DEFINITIONS: usize = 32;
/// How many conversations are remembered as wholes. One that is forgotten costs more references, not more items.
const CHAINS: usize = 64;

/// What history holds, for all the conversations of one workflow run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// By conversation, the latest call that was answered, and what it was given; the one that was answered last at the end.
    chains: Vec<(Rc<str>, Given)>,
    /// Where each item is that came up in a call that was answered; the latest place counts.
    held: BTreeMap<ItemDigest, (Item, Place)>,
    /// What tools returned, by the call it answers, the latest last. Not digested here: its item is, where it comes up.
    returned: BTreeMap<String, Vec<Returned>>,
    /// The definitions that calls were given, the latest last.
    definitions: VecDeque<Defined>,
}

/// A call in references, and what is to be noted once it is answered.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    /// The input as it travels.
    pub(crate) conversation: Conversation,
    /// The definitions as they travel.
    pub(crate) definitions: DefinitionsPart,
    /// What is to be noted.
    pub(crate) noted: Noted,
}

/// What a call is given, for when it is answered.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    /// What the call that it goes on with was given, and how many of these items it begins with. Shared: a long conversation is not copied.
    base: Rc<Vec<Link>>,
    shared: usize,
    /// The items after them.
    rest: Vec<Link>,
    /// Which of these travel themselves.
    inline: Vec<usize>,
    /// Definitions that travel themselves.
    definitions: Option<(Digest, Box<Definitions>)>,
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
    items: Rc<Vec<Link>>,
}

/// What a tool returned, and the activity that has it in history.
#[derive(Clone, Debug)]
struct Returned {
    activity_id: Rc<str>,
    output: ToolOutput,
}

#[derive(Clone, Debug)]
struct Defined {
    activity_id: Rc<str>,
    digest: Digest,
    definitions: Box<Definitions>,
    /// Their text, once it was needed: the order of schema members reaches the model.
    json: OnceCell<String>,
}

impl Folded {
    /// The items that travel themselves.
    pub(crate) fn inline_items(&self) -> impl Iterator<Item = &Item> {
        self.noted.inline_items().map(|(_, item)| item)
    }
}

impl Noted {
    /// The items that travel themselves, with their places in the input.
    fn inline_items(&self) -> impl Iterator<Item = (usize, &Item)> {
        self.inline.iter().map(|place| (self.shared + place, &self.rest[*place].item))
    }
}

impl Ledger {
    /// A call of this conversation, in references to what history has.
    pub(crate) fn fold(&self, chain: &str, definitions: &Definitions, input: &[Item]) -> Folded {
        let definitions = match self.defined(definitions) {
            Some(Defined { activity_id, digest, .. }) => {
                DefinitionsPart::Call { activity_id: activity_id.to_string(), digest: digest.clone() }
            }
            None => DefinitionsPart::inline(definitions.clone()),
        };
        let base = self.base(chain, input);
        let latest = base.map_or_else(Rc::default, |base| Rc::clone(&base.items));
        let shared = shared(&latest, input);
        let mut chain = latest[..shared].last().map_or_else(DigestChain::empty, |last| last.chain);
        let mut segments = Segments::default();
        if let (Some(base), true) = (base, shared > 0) {
            segments.refer(base.place(0), shared);
        }
        // Where the latest call had items that are not where they were.
        let moved = if shared < latest.len() { base.map(Given::places).unwrap_or_default() } else { BTreeMap::new() };
        let (mut rest, mut inline) = (Vec::with_capacity(input.len() - shared), Vec::new());
        for item in &input[shared..] {
            let digest = item.digest();
            chain = chain.then(digest);
            let has = |place: &Place| self.has(base, place, item, digest);
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
        let to_define = match &definitions {
            DefinitionsPart::Inline { digest, definitions } => Some((digest.clone(), definitions.clone())),
            _ => None,
        };
        let noted = Noted { base: latest, shared, rest, inline, definitions: to_define };
        Folded { conversation, definitions, noted }
    }

    /// A call was answered: what it was given and what it answered is in history, and may be referred to.
    pub(crate) fn answered(&mut self, chain: &str, activity_id: &str, noted: Noted, output: &[Item]) {
        let activity_id: Rc<str> = activity_id.into();
        let here = List::Call { activity_id: Rc::clone(&activity_id) };
        let given = noted.shared + noted.rest.len();
        for (place, item) in noted.inline_items().chain((given..).zip(output)) {
            self.hold(item, Place::In { list: here.clone(), index: number(place) });
        }
        let Noted { base, shared, rest, inline: _, definitions } = noted;
        if let Some((digest, definitions)) = definitions
            && self.defined(&definitions).is_none()
        {
            if self.definitions.len() == DEFINITIONS {
                self.definitions.pop_front();
            }
            let (activity_id, json) = (Rc::clone(&activity_id), OnceCell::new());
            self.definitions.push_back(Defined { activity_id, digest, definitions, json });
        }
        let known = self.chains.iter().position(|(of, _)| **of == *chain);
        if let Some(place) = known {
            self.chains.remove(place);
        } else if self.chains.len() == CHAINS {
            self.chains.remove(0);
        }
        // Nobody else has them any more where the call goes on with the one before.
        let mut items = Rc::unwrap_or_clone(base);
        items.truncate(shared);
        items.extend(rest);
        self.chains.push((chain.into(), Given { activity_id, items: Rc::new(items) }));
    }

    /// A tool activity has returned this for a call.
    pub(crate) fn returned(&mut self, activity_id: &str, call_id: &str, output: &ToolOutput) {
        let is_worth_it = match output {
            // The text is most of its item, whose exact length decides only where the text alone is too short.
            ToolOutput::Text(text) if text.len() > WORTH_A_REFERENCE => true,
            _ => Item::function_call_output(call_id, output.clone().into_value()).json_len() > WORTH_A_REFERENCE,
        };
        if is_worth_it {
            let returned = Returned { activity_id: activity_id.into(), output: output.clone() };
            self.returned.entry(call_id.to_owned()).or_default().push(returned);
        }
    }

    /// Items were recorded by themselves.
    pub(crate) fn recorded(&mut self, activity_id: &str, items: &[Item]) {
        self.hold_all(items, &List::Recorded { activity_id: activity_id.into() });
    }

    /// The state that the workflow run began with was loaded in so many chunks, and these are its items.
    pub(crate) fn loaded(&mut self, activity_id: &str, chunks: usize, state: &RunState) {
        let list = List::State { activity_id: activity_id.into(), chunks: number(chunks) };
        self.hold_all(state.items_in_order(), &list);
    }

    /// Whether an item has come up in a call that was answered.
    pub(crate) fn holds(&self, item: &Item) -> bool {
        self.place(item, item.digest()).is_some()
    }

    /// Takes over what was noted in a ledger of its own; its places count.
    pub(crate) fn take_over(&mut self, other: Self) {
        let Self { chains, held, returned, definitions } = other;
        self.held.extend(held);
        for (call_id, returned) in returned {
            self.returned.entry(call_id).or_default().extend(returned);
        }
        self.chains.retain(|(chain, _)| chains.iter().all(|(other, _)| other != chain));
        self.chains.extend(chains);
        self.chains.drain(..self.chains.len().saturating_sub(CHAINS));
        self.definitions.extend(definitions);
        self.definitions.drain(..self.definitions.len().saturating_sub(DEFINITIONS));
    }

    /// Definitions are not what they were when they were sent.
    pub(crate) fn forget_definitions(&mut self) {
        self.definitions.clear();
    }

    fn hold_all<'i>(&mut self, items: impl IntoIterator<Item = &'i Item>, list: &List) {
        for (place, item) in items.into_iter().enumerate() {
            self.hold(item, Place::In { list: list.clone(), index: number(place) });
        }
    }

    fn hold(&mut self, item: &Item, place: Place) {
        self.held.insert(item.digest(), (item.clone(), place));
    }

    fn defined(&self, definitions: &Definitions) -> Option<&Defined> {
        let surely = |defined: &&Defined| defined.definitions.is_same_text(definitions);
        self.definitions.iter().rev().find(surely).or_else(|| {
            let json = definitions.json();
            let text = |defined: &&Defined| *defined.json.get_or_init(|| defined.definitions.json()) == json;
            self.definitions.iter().rev().find(text)
        })
    }

    /// The call that this one goes on with: the latest of its conversation, else the one with most in common, as when a chat
    /// begins its next run.
    fn base(&self, chain: &str, input: &[Item]) -> Option<&Given> {
        let own = self.chains.iter().find(|(of, _)| **of == *chain).map(|(_, given)| given);
        own.or_else(|| {
            let all = self.chains.iter().map(|(_, given)| (shared(&given.items, input), given));
            all.filter(|(shared, _)| *shared > 0).max_by_key(|(shared, _)| *shared).map(|(_, given)| given)
        })
    }

    /// Whether history has this item at this place.
    fn has(&self, base: Option<&Given>, place: &Place, item: &Item, digest: ItemDigest) -> bool {
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

/// How many items at the beginning are the same.
fn shared(latest: &[Link], input: &[Item]) -> usize {
    latest.iter().zip(input).take_while(|(link, item)| is_same(&link.item, item)).count()
}

/// Whether two items are the same text, the order of members included: a provider is to get what it would get in full.
fn is_same(one: &Item, other: &Item) -> bool {
    one.is_shared_with(other) || (one.digest() == other.digest() && one.has_the_text_of(other))
}

/// Whether an item is the text of [`Item::function_call_output`] for this output.
fn is_output(item: &Item, call_id: &str, output: &ToolOutput) -> bool {
    let ToolOutput::Text(text) = output else {
        return item.has_the_text_of(&Item::function_call_output(call_id, output.clone().into_value()));
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
