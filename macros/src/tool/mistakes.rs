//! All mistakes of one `#[tool]`, reported together.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The mistakes found so far, in the order in which they were found.
#[derive(Default)]
pub(super) struct Mistakes(Option<syn::Error>);

impl Mistakes {
    /// Adds a mistake.
    pub(super) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(errors) => errors.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// Adds a mistake that underlines these tokens.
    pub(super) fn on(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.add(syn::Error::new_spanned(tokens, message));
    }

    /// Adds a mistake at this place.
    pub(super) fn at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Whether none was found.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The mistakes as `compile_error!`s.
    pub(super) fn into_compile_errors(self) -> TokenStream {
        self.0.map(syn::Error::into_compile_error).unwrap_or_default()
    }
}
