//! The grammar of all attributes: `key`, `key = value` and `key(values)`, separated by commas.
//!
//! Every entry is parsed separately, so a mistake in one entry hides none in another.

mod duration;
mod entry;
mod suggest;

use proc_macro2::TokenStream;
use syn::Ident;

pub(crate) use self::{
    entry::Entry,
    suggest::{Foreign, did_you_mean},
};
use crate::mistakes::Mistakes;

/// Parses the entries of an attribute one by one; returns the keys that it has, each once.
pub(crate) fn read(
    attribute: TokenStream,
    mistakes: &mut Mistakes,
    mut set: impl FnMut(&Entry) -> syn::Result<()>,
) -> Vec<Ident> {
    let mut seen: Vec<Ident> = Vec::new();
    for tokens in entry::split(attribute) {
        let entry = match syn::parse2::<Entry>(tokens) {
            Ok(entry) => entry,
            Err(error) => {
                mistakes.add(error);
                continue;
            }
        };
        if seen.contains(&entry.key) {
            mistakes.on(&entry.key, format_args!("duplicate key `{}`", entry.key));
            continue;
        }
        if let Err(error) = set(&entry) {
            mistakes.add(error);
        }
        seen.push(entry.key);
    }
    seen
}

/// Returns the error for a key that is none of these.
pub(crate) fn unknown_key(key: &Ident, keys: &[&'static str], foreign: &[Foreign]) -> syn::Error {
    let hint = suggest::key(&key.to_string(), keys, foreign);
    syn::Error::new(key.span(), format!("unknown key `{key}`; {hint}"))
}
