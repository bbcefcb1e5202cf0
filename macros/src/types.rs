//! Types as the author wrote them: macros see only tokens, and cannot resolve names.

use proc_macro2::{TokenStream, TokenTree};
use syn::{Type, TypePath};

/// Returns the type without parentheses and the invisible groups of `macro_rules`.
pub(crate) fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => bare(&group.elem),
        Type::Paren(paren) => bare(&paren.elem),
        ty => ty,
    }
}

/// Returns `true` if the last segment of the type's path is this name.
pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    match bare(ty) {
        Type::Path(TypePath { qself: None, path, .. }) => path.segments.last().is_some_and(|last| last.ident == name),
        _ => false,
    }
}

/// Returns `true` if a type contains `impl Trait`.
pub(crate) fn has_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == "impl",
        TokenTree::Group(group) => has_impl(group.stream()),
        _ => false,
    })
}
