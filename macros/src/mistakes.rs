//! All mistakes of one use of a macro, reported together.

use std::fmt::Display;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::Item;

/// The mistakes found so far, in the order in which they were found.
#[derive(Default)]
pub(crate) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Adds a mistake.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Adds a mistake that underlines these tokens.
    pub(crate) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake at this span.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Returns `true` if no mistake was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the mistakes as `compile_error!`s.
    pub(crate) fn into_compile_errors(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}

/// Returns the item unchanged, with an error: `goes_above` if it is an item of another kind,
/// otherwise the error of the parser.
pub(crate) fn wrong_item_kind_error(error: syn::Error, item: &TokenStream, goes_above: &str) -> TokenStream {
    let error = match syn::parse2::<Item>(item.clone()) {
        Ok(other) => syn::Error::new_spanned(head(&other), goes_above),
        Err(_) => error,
    };
    let error = error.into_compile_error();
    quote!(#item #error)
}

/// Returns the tokens of an item up to its body, so that the error does not underline all of it.
fn head(item: &Item) -> TokenStream {
    let is_body = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    item.to_token_stream().into_iter().take_while(|tree| !is_body(tree)).collect()
}
