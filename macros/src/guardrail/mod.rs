//! `#[guardrail]`: from a function to a check of the input of a run, or of its final output.
//!
//! The steps: [`parse`] parses the attribute's keys, [`parameter`] one parameter each; [`validate`]
//! joins them to a [`GuardrailFn`](validate::GuardrailFn), and [`expand`](mod@expand) writes it as
//! code.
//!
//! Every step adds the mistakes that it finds to [`Mistakes`] and continues, so that the author
//! sees all at once. If there are any, the expansion keeps the name and the body, so that nothing
//! else in the crate breaks.

mod expand;
mod parameter;
mod parse;
mod validate;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use self::parse::Keys;
use crate::mistakes::{Mistakes, wrong_item_kind_error};

/// Expands `#[guardrail(attribute)] item`; mistakes become `compile_error!`s.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let keys = Keys::parse(attribute, &mut mistakes);
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return wrong_item_kind_error(error, item, "`#[guardrail]` goes above a function"),
    };
    match validate::validate(&keys, &function, &mut mistakes) {
        Some(guardrail) if mistakes.is_empty() => expand::guardrail(&guardrail),
        _ => {
            let stub = expand::stub(&keys, &function);
            let errors = mistakes.into_compile_errors();
            quote!(#stub #errors)
        }
    }
}

#[cfg(test)]
mod tests;
