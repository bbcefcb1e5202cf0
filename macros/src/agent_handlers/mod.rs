//! `#[agent_handlers]`: the updates and the query that a run with an inbox needs, added to a
//! workflow.
//!
//! The SDK's handlers are static: `#[workflow_methods]` reads them from the `impl` block. So this
//! attribute goes above that one, and adds methods to the block before the SDK reads it. The steps:
//! [`parse`] parses the keys, [`validate`] checks the block, [`expand`](mod@expand) writes the
//! methods.

mod expand;
mod parse;
mod validate;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemImpl;

use self::parse::Keys;
use crate::mistakes::{Mistakes, wrong_item_kind_error};

/// Expands `#[agent_handlers(attribute)] item`; mistakes become `compile_error!`s.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let keys = Keys::parse(attribute, &mut mistakes);
    let block: ItemImpl = match syn::parse2(item.clone()) {
        Ok(block) => block,
        Err(error) => {
            return wrong_item_kind_error(
                error,
                item,
                "`#[agent_handlers]` goes above `#[workflow_methods] impl YourWorkflow { .. }`",
            );
        }
    };
    validate::validate(&block, &mut mistakes);
    if mistakes.is_empty() {
        return expand::handlers(&keys, &block);
    }
    let stub = expand::stub(&keys, &block);
    let errors = mistakes.into_compile_errors();
    quote!(#stub #errors)
}

#[cfg(test)]
mod tests;
