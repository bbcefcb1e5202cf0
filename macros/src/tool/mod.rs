//! `#[tool]`: from a function to a tool.
//!
//! The steps: [`parse`] reads the attribute's keys, [`docs`] the doc comments, [`parameter`] one parameter each;
//! [`validate`] joins them to a [`ToolFn`](validate::ToolFn), and [`expand`](mod@expand) writes that as code.
//!
//! Every step adds what it does not like to [`Mistakes`](mistakes::Mistakes) and goes on, so that an author sees all at
//! once. When there are any, the expansion keeps the name and the body, so that nothing else in the crate breaks.

mod docs;
mod expand;
mod mistakes;
mod parameter;
mod parse;
mod validate;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Item, ItemFn};

use self::{mistakes::Mistakes, parse::Keys};

/// Expands `#[tool(attribute)] item`; mistakes become `compile_error!`s.
pub(crate) fn expand(attribute: TokenStream, item: &TokenStream) -> TokenStream {
    let mut mistakes = Mistakes::default();
    let keys = Keys::parse(attribute, &mut mistakes);
    let function: ItemFn = match syn::parse2(item.clone()) {
        Ok(function) => function,
        Err(error) => return not_a_function(error, item),
    };
    match validate::validate(&keys, &function, &mut mistakes) {
        Some(tool) if mistakes.is_empty() => expand::tool(&tool),
        _ => {
            let stub = expand::stub(&keys, &function);
            let errors = mistakes.into_compile_errors();
            quote!(#stub #errors)
        }
    }
}

fn not_a_function(error: syn::Error, item: &TokenStream) -> TokenStream {
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(other) => syn::Error::new_spanned(head(&other), "`#[tool]` goes above a function"),
        Err(_) => error,
    };
    let error = error.into_compile_error();
    quote!(#item #error)
}

/// The tokens of an item up to its body, so that the error does not underline all of it.
fn head(item: &Item) -> TokenStream {
    let is_body = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    item.to_token_stream().into_iter().take_while(|tree| !is_body(tree)).collect()
}

#[cfg(test)]
mod tests;
