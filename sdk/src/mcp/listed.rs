//! A list of a server while its pages arrive: within limits, for a server may list for ever.

use std::{collections::BTreeSet, ops::ControlFlow};

use serde::Serialize;
use serde_json::{Value, json};

use super::ask::Answer;
use crate::wire::size::{Bytes, MOST_BYTES, encoded_len};

/// Most tools of a server: providers take a few hundred in a call, and what a run leaves out of them is for it to say.
pub(super) const MOST_TOOLS: usize = 1_000;
/// Most prompts, resources or templates of a server: a page of them is for people to look through.
pub(super) const MOST_ITEMS: usize = 10_000;
/// Most pages of a list, for pages may be empty.
const MOST_PAGES: usize = 1_000;

/// What a list has so far.
pub(super) struct Listed {
    /// The member of the answer.
    name: &'static str,
    most: usize,
    /// What is kept of an item.
    of: fn(Value) -> Result<Value, String>,
    items: Vec<Value>,
    /// The cursors that the server has returned.
    cursors: BTreeSet<String>,
    /// The JSON of items and cursors.
    bytes: usize,
}

impl Listed {
    pub(super) fn new(name: &'static str, most: usize, of: fn(Value) -> Result<Value, String>) -> Self {
        Self { name, most, of, items: Vec::new(), cursors: BTreeSet::new(), bytes: 0 }
    }

    /// Takes the next page; breaks with the answer after the last one, or where the list exceeds a limit.
    pub(super) fn page(&mut self, items: &[impl Serialize], next: Option<&str>) -> ControlFlow<Answer> {
        let name = self.name;
        let too_long = |excess: String| ControlFlow::Break(Answer::TooLong(excess));
        if self.items.len() + items.len() > self.most {
            return too_long(format!("lists more than {} {name}, which is the most that is taken", self.most));
        }
        for item in items {
            let kept = serde_json::to_value(item).map_err(|error| error.to_string()).and_then(self.of);
            match kept.and_then(|kept| encoded_len(&kept).map(|bytes| (kept, bytes)).map_err(|error| error.to_string()))
            {
                Ok((kept, bytes)) => {
                    self.bytes += bytes;
                    self.items.push(kept);
                }
                Err(reason) => return ControlFlow::Break(Answer::Unreadable(reason)),
            }
        }
        self.bytes += next.map_or(0, str::len);
        if self.bytes > MOST_BYTES {
            return too_long(format!(
                "lists {name} of more than {}; what is larger cannot be recorded",
                Bytes(MOST_BYTES)
            ));
        }
        match next {
            None => ControlFlow::Break(Answer::Of(json!({ name: std::mem::take(&mut self.items) }))),
            Some(cursor) if !self.cursors.insert(cursor.to_owned()) => ControlFlow::Break(Answer::EndlessList),
            Some(_) if self.cursors.len() >= MOST_PAGES => {
                too_long(format!("lists {name} on more than {MOST_PAGES} pages, which is the most that is taken"))
            }
            Some(_) => ControlFlow::Continue(()),
        }
    }
}
