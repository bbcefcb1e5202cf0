//! `#[tools]`: from an `impl` block to a set of tools that share a state of the worker.
//!
//! The steps are those of one tool: [`parse`] parses the keys, [`validate`] checks the block and,
//! with the rules of `#[tool]`, each of its methods that is a tool; [`expand`](mod@expand) writes
//! them as code. The block is unchanged, so that its methods can call each other.

mod expand;
mod parse;
mod validate;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemImpl;

use self::parse::SetKeys;
use crate::mistakes::{Mistakes, wrong_item_kind_error};

/// Expands `#[tools(attribute)] item`; mistakes become `compile_error!`s.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let keys = SetKeys::parse(attribute, &mut mistakes);
    let block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => return wrong_item_kind_error(error, item, "`#[tools]` goes above `impl YourSet { .. }`"),
    };
    let methods = validate::methods(&keys, &block, &mut mistakes);
    let tools = validate::validate(&block, &methods, &mut mistakes);
    if mistakes.is_empty() {
        return expand::set(&keys, &block, &tools);
    }
    let stub = expand::stub(&keys, &block, &methods);
    let errors = mistakes.into_compile_errors();
    quote!(#stub #errors)
}

#[cfg(test)]
mod tests;
