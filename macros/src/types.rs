//! Types as an author wrote them: macros see tokens, and nothing of what they mean.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Type, TypePath};

/// The type without parentheses and the invisible groups of `macro_rules`.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}

/// Whether the last word of the type's path is this.
pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    match bare(ty) {
        Type::Path(TypePath { qself: None, path, .. }) => path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// Whether `impl Trait` is somewhere in a type.
pub(crate) fn has_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Group(group) => has_impl(group.stream()),
        _ => false,
    })
}
