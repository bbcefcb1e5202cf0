//! The attribute macros of temporal-agents.

use proc_macro::TokenStream;

/// Turns a function into a tool.
#[proc_macro_attribute]
pub fn tool(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    item
}
