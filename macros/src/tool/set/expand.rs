//! Expands a set: the block unchanged, a function per tool that returns its definition, and one
//! that returns all definitions.
//!
//! The code refers only to items of `__private`, keeps the author's tokens with their spans, and
//! holds calls, not logic.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{ImplItem, Item, ItemImpl, parse_quote};

use super::{
    parse::SetKeys,
    validate::{Method, is_tool},
};
use crate::{
    declaration::{self, Declaration},
    tool::{
        expand::{definition, private},
        validate::ToolFn,
    },
};

/// Returns the code of a set.
pub(super) fn set(keys: &SetKeys, block: &ItemImpl, tools: &[ToolFn<'_>]) -> TokenStream {
    let private = private(keys.krate.as_ref());
    let functions = tools.iter().map(|tool| {
        let declaration = Declaration::new("tool", tool.function, Some(&tool.description));
        let definition = definition::body(tool, &private);
        function(&declaration, &private, &definition)
    });
    let all = tools.iter().map(|tool| {
        let declaration = Declaration::new("tool", tool.function, None);
        let (cfgs, name) = (declaration.cfgs(), format_ident!("{}_tool", tool.function.sig.ident));
        quote!(#(#cfgs)* Self::#name())
    });
    with_functions(block, &private, functions, &quote!(#private::Vec::from([#(#all),*])))
}

/// Returns the code of a set with mistakes: it defines all names, so that only these mistakes are
/// reported.
pub(super) fn stub(keys: &SetKeys, block: &ItemImpl, methods: &[Method]) -> TokenStream {
    let private = private(keys.krate.as_ref());
    let unreachable = quote!(::core::unreachable!("the tools do not compile"));
    let is_free = |name: &str| !block.items.iter().any(|item| matches!(item, ImplItem::Fn(f) if f.sig.ident == name));
    if block.trait_.is_some() || !is_free("tools") {
        let block = plain(block);
        return quote!(#block);
    }
    let functions = methods
        .iter()
        .filter(|method| is_free(&format!("{}_tool", method.function.sig.ident)))
        .map(|method| function(&Declaration::new("tool", &method.function, None), &private, &unreachable));
    with_functions(block, &private, functions, &unreachable)
}

fn with_functions(
    block: &ItemImpl,
    private: &TokenStream,
    functions: impl Iterator<Item = TokenStream>,
    all: &TokenStream,
) -> TokenStream {
    let (generics, set, clause) = (&block.generics, &block.self_ty, &block.generics.where_clause);
    let cfgs = block.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg"));
    let block = plain(block);
    quote! {
        #block

        #(#cfgs)*
        impl #generics #set #clause {
            /// All tools of this set, in the order of their methods.
            #[allow(dead_code, unreachable_pub, reason = "some name them one by one")]
            #[must_use]
            pub fn tools() -> #private::Vec<#private::ToolDef> {
                #all
            }

            #(#functions)*
        }
    }
}

/// Returns the function that returns a tool's definition.
fn function(declaration: &Declaration<'_>, private: &TokenStream, definition: &TokenStream) -> TokenStream {
    let (name, vis, cfgs) = (format_ident!("{}_tool", declaration.ident()), declaration.vis(), declaration.cfgs());
    let doc =
        format!(" The tool `{}`: each call is one of the method, on the worker's own value.", declaration.ident());
    quote! {
        #(#cfgs)*
        #[doc = #doc]
        #[allow(dead_code, reason = "some take all tools at once")]
        #[must_use]
        #vis fn #name() -> #private::ToolDef {
            #definition
        }
    }
}

/// Returns the block without the attributes that only the macro understands.
fn plain(block: &ItemImpl) -> Item {
    let mut block = block.clone();
    for item in &mut block.items {
        let ImplItem::Fn(method) = item else { continue };
        if !method.attrs.iter().any(is_tool) {
            continue;
        }
        method.attrs.retain(|attribute| !is_tool(attribute));
        method.attrs.push(parse_quote! {
            #[allow(
                clippy::needless_pass_by_value,
                clippy::unused_async,
                clippy::unused_self,
                reason = "the signature of a tool is fixed"
            )]
        });
        for input in &mut method.sig.inputs {
            declaration::strip(input);
        }
    }
    Item::Impl(block)
}
