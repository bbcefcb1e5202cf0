//! A list of a server while its pages arrive, within limits: a server may list without end.

use std::{collections::BTreeSet, ops::ControlFlow};

use serde::Serialize;
use serde_json::{Value, json};
use temporal_agents_core::wire::size::{Bytes, MOST_BYTES, encoded_len};

use super::ask::Answer;

/// The maximum number of tools of a server. Providers accept a few hundred in a call; the run
/// decides which tools it leaves out.
pub(super) const MAX_TOOLS: usize = 1_000;
/// The maximum number of prompts, resources or templates of a server, since people read them page
/// by page.
pub(super) const MAX_ITEMS: usize = 10_000;
/// The maximum number of pages of a list, since pages may be empty.
const MOST_PAGES: usize = 1_000;

/// The pages of a list that have arrived.
pub(super) struct Listed {
    /// Name of the member of the response that holds the list.
    name: &'static str,
    most: usize,
    /// Converts an item to the form that is kept.
    of: fn(Value) -> Result<Value, String>,
    items: Vec<Value>,
    /// The cursors that the server has returned.
    cursors: BTreeSet<String>,
    /// Size of the JSON of items and cursors, in bytes.
    bytes: usize,
}

impl Listed {
    pub(super) fn new(name: &'static str, most: usize, of: fn(Value) -> Result<Value, String>) -> Self {
        Self { name, most, of, items: Vec::new(), cursors: BTreeSet::new(), bytes: 0 }
    }

    /// Adds the next page. Breaks with the response after the last page, or when the list exceeds a
    /// limit.
    pub(super) fn page(&mut self, items: &[impl Serialize], next: Option<&str>) -> ControlFlow<Answer> {
        let name = self.name;
        let too_long = |excess: String| ControlFlow::Break(Answer::TooLong(excess));
        if self.items.len() + items.len() > self.most {
            return too_long(format!("lists more than {} {name}, the maximum", self.most));
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
                "lists {name} of more than {}, the limit of a recorded response",
                Bytes(MOST_BYTES)
            ));
        }
        match next {
            None => ControlFlow::Break(Answer::Of(json!({ name: std::mem::take(&mut self.items) }))),
            Some(cursor) if !self.cursors.insert(cursor.to_owned()) => ControlFlow::Break(Answer::EndlessList),
            Some(_) if self.cursors.len() >= MOST_PAGES => {
                too_long(format!("lists {name} on more than {MOST_PAGES} pages, the maximum"))
            }
            Some(_) => ControlFlow::Continue(()),
        }
    }
}
