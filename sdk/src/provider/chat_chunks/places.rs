//! The positions of the items that the deltas of a message become.
//!
//! The items have a fixed order, whatever the order in which a server sends their parts. So an item
//! that begins after one that follows it has moved that one: no position that is sent from then on
//! could be joined to those before, and no more deltas are sent.

use serde_json::{Map, Value};

/// The items that a message becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One item with the text and everything else that the server knows, then the calls.
    #[cfg(feature = "openai")]
    Joined,
    /// The reasoning, then the text, then the calls. White space around a text is left out.
    #[cfg(feature = "genai")]
    Separate,
}

/// A group of deltas that become one item, or a row of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Reasoning,
    Message,
    Refusal,
    Calls,
}

/// The items that have begun.
#[derive(Debug)]
pub(super) struct Places {
    layout: Layout,
    /// Of the reasoning, the text and the calls, in the order of the items.
    has_begun: [bool; 3],
    /// `true` once an item has begun before one that was already there.
    has_moved: bool,
}

impl Places {
    pub(super) fn new(layout: Layout) -> Self {
        Self { layout, has_begun: [false; 3], has_moved: false }
    }

    /// Takes the members of the message into account that become an item without a delta.
    pub(super) fn update(&mut self, message: &Map<String, Value>) {
        match self.layout {
            #[cfg(feature = "openai")]
            Layout::Joined if is_item(message) => drop(self.begin(0)),
            #[cfg(feature = "openai")]
            Layout::Joined => {}
            #[cfg(feature = "genai")]
            Layout::Separate => {
                if message.get("reasoning_details").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
                    self.begin(0);
                }
            }
        }
    }

    /// Returns the position of the item of a group; `None` if it cannot be known.
    pub(super) fn place(&mut self, group: Group) -> Option<u32> {
        let rank = match (self.layout, group) {
            (_, Group::Calls) => 2,
            #[cfg(feature = "openai")]
            (Layout::Joined, _) => 0,
            #[cfg(feature = "genai")]
            (Layout::Separate, Group::Reasoning) => 0,
            #[cfg(feature = "genai")]
            (Layout::Separate, Group::Message) => 1,
            // A refusal replaces the message.
            #[cfg(feature = "genai")]
            (Layout::Separate, Group::Refusal) => return None,
        };
        self.begin(rank)
    }

    /// Returns the position of the item of a text, and the text without the white space that is
    /// left out; `None` if there is nothing to send.
    pub(super) fn text(&mut self, group: Group, text: String) -> Option<(u32, String)> {
        let text = match self.layout {
            #[cfg(feature = "openai")]
            Layout::Joined => text,
            #[cfg(feature = "genai")]
            Layout::Separate => {
                let rank = usize::from(group == Group::Message);
                if self.has_begun[rank] { text } else { text.trim_start().to_owned() }
            }
        };
        if text.is_empty() {
            return None;
        }
        Some((self.place(group)?, text))
    }

    fn begin(&mut self, rank: usize) -> Option<u32> {
        if !self.has_begun[rank] {
            self.has_moved |= self.has_begun[rank + 1..].contains(&true);
            self.has_begun[rank] = true;
        }
        let before = self.has_begun[..rank].iter().filter(|has_begun| **has_begun).count();
        u32::try_from(before).ok().filter(|_| !self.has_moved)
    }
}

/// Returns `true` if the members other than the calls become an item: a text that is not empty, a
/// refusal, or a member that only the server knows.
#[cfg(feature = "openai")]
fn is_item(message: &Map<String, Value>) -> bool {
    message.iter().any(|(name, value)| match &**name {
        "role" | "annotations" => false,
        "content" => value.as_str() != Some("") && value.as_array().is_none_or(|parts| !parts.is_empty()),
        _ => !value.is_null(),
    })
}
