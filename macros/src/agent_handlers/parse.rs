//! Parses the arguments of `#[agent_handlers(..)]`.

use proc_macro2::{Span, TokenStream};
use syn::{Ident, Path};

use crate::{
    attribute::{self, Entry, Foreign},
    mistakes::Mistakes,
};

/// Every key, in the order in which the documentation lists them.
const KEYS: [&str; 2] = ["inbox", "crate"];

/// Names that an author may try, and the advice for each.
const FOREIGN: [Foreign; 2] = [
    ("field", "write `inbox = decisions`"),
    ("name", "the handlers have fixed names, which callers in any language use"),
];

/// The values of the attribute's keys.
#[derive(Default)]
pub(super) struct Keys {
    inbox: Option<Ident>,
    pub(super) krate: Option<Path>,
}

impl Keys {
    /// Parses the arguments of the attribute.
    pub(super) fn parse(attribute: TokenStream, mistakes: &mut Mistakes) -> Self {
        let mut keys = Self::default();
        attribute::read(attribute, mistakes, |entry| keys.set(entry));
        keys
    }

    fn set(&mut self, entry: &Entry) -> syn::Result<()> {
        match entry.key.to_string().as_str() {
            "inbox" => self.inbox = Some(entry.ident("decisions")?),
            "crate" => self.krate = Some(entry.path()?),
            _ => return Err(attribute::unknown_key(&entry.key, &KEYS, &FOREIGN)),
        }
        Ok(())
    }

    /// Returns the name of the field, with the span for errors about it.
    pub(super) fn field(&self) -> Ident {
        self.inbox.clone().unwrap_or_else(|| Ident::new("inbox", Span::call_site()))
    }
}
