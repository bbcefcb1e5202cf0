//! `#[tool]`: from a function to a tool.
//!
//! The steps: [`parse`] parses the attribute's keys, [`docs`] the doc comments, [`parameter`] one
//! parameter each; [`validate`] joins them to a [`ToolFn`](validate::ToolFn), and
//! [`expand`](mod@expand) writes it as code.
//!
//! Every step adds the mistakes that it finds to [`Mistakes`] and continues, so that the author
//! sees all at once. If there are any, the expansion keeps the name and the body, so that nothing
//! else in the crate breaks.

mod docs;
mod expand;
mod parameter;
mod parse;
pub(crate) mod set;
mod validate;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{ForeignItemFn, ItemFn, parse_quote};

use self::{parse::Keys, validate::Home};
use crate::mistakes::{Mistakes, wrong_item_kind_error};

/// Expands `#[tool(attribute)] item`; mistakes become `compile_error!`s.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let keys = Keys::parse(attribute, &mut mistakes);
    let function = match read(item.clone()) {
        Ok(function) => function,
        Err(error) => return wrong_item_kind_error(error, item, "`#[tool]` goes above a function"),
    };
    if let (Written::WithBody(function), true) = (&function, keys.client) {
        mistakes.on(&function.sig, "a client tool runs at the caller: write `;` instead of the body");
    }
    if let (Written::WithoutBody(function), false) = (&function, keys.client) {
        let message = "a tool needs a body; a tool without one runs at the caller: write `#[tool(client)]`";
        mistakes.on(&function.sig, message);
    }
    let (Written::WithBody(function) | Written::WithoutBody(function)) = function;
    match validate::validate(&keys, &function, Home::Function, &mut mistakes) {
        Some(tool) if mistakes.is_empty() => expand::tool(&tool),
        _ => {
            let stub = expand::stub(&keys, &function);
            let errors = mistakes.into_compile_errors();
            quote!(#stub #errors)
        }
    }
}

/// A function, with or without a body.
enum Written {
    WithBody(ItemFn),
    /// Its block is an empty placeholder.
    WithoutBody(ItemFn),
}

fn read(item: TokenStream) -> syn::Result<Written> {
    let error = match syn::parse2(item.clone()) {
        Ok(function) => return Ok(Written::WithBody(function)),
        Err(error) => error,
    };
    let ForeignItemFn { attrs, vis, modifiers, sig, semi_token: _ } = syn::parse2(item).map_err(|_| error)?;
    Ok(Written::WithoutBody(ItemFn { attrs, vis, modifiers, sig, block: parse_quote!({}) }))
}

#[cfg(test)]
mod tests;
