//! Parses the arguments of `#[tools(..)]`.

use proc_macro2::TokenStream;
use syn::Path;

use crate::{
    attribute::{self, Entry, Foreign},
    mistakes::Mistakes,
};

/// Every key.
const KEYS: [&str; 1] = ["crate"];

/// Names that an author may try, and the advice for each.
const FOREIGN: [Foreign; 6] = [
    ("name", "each tool of a set is named like its method, or by `#[tool(name = \"..\")]` there"),
    ("inline", "the tools of a set are activities, because their state is the worker's"),
    ("state", "the state is the value itself: `Resources::new().state(set)`"),
    ("task_queue", "write `#[tool(task_queue = \"..\")]` above each method"),
    ("start_to_close", "write `#[tool(start_to_close = \"20s\")]` above each method"),
    ("attempts", "write `#[tool(attempts = 3)]` above each method"),
];

/// The values of the attribute's keys.
#[derive(Default)]
pub(super) struct SetKeys {
    pub(super) krate: Option<Path>,
}

impl SetKeys {
    /// Parses the arguments of the attribute.
    pub(super) fn parse(attribute: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut keys = Self::default();
        attribute::read(attribute, mistakes, |entry| keys.set(entry));
        keys
    }

    fn set(&mut self, entry: &Entry) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "crate" => self.krate = Some(entry.path()?),
            _ => return Err(attribute::unknown_key(&entry.key, &KEYS, &FOREIGN)),
        }
        Ok(())
    }
}
