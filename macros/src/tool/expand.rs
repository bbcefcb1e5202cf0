//! Expands a tool: a unit struct, its body as a method, and the definition.
//!
//! The code refers only to items of `__private`, keeps the author's tokens with their spans, and
//! holds calls, not logic.

pub(super) mod definition;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{ItemFn, Path};

use super::{parse::Keys, validate::ToolFn};
use crate::declaration::{self, Declaration};

/// Returns the code of a tool.
pub(super) fn tool(tool: &ToolFn<'_>) -> TokenStream {
    let private = private(tool.keys.krate.as_ref());
    let definition = definition::body(tool, &private);
    let declaration = Declaration::new("tool", tool.function, Some(&tool.description));
    let declaration = if tool.keys.client { declaration.without_body() } else { declaration };
    with_definition(&declaration, &private, &definition)
}

/// Returns the code of a function with mistakes: it defines all names, so that only the function's
/// own mistakes are reported.
pub(super) fn stub(keys: &Keys, function: &ItemFn) -> TokenStream {
    if function.sig.receiver().is_some() {
        // Inside of an `impl`, which cannot contain a struct.
        return declaration::stripped(function).into_token_stream();
    }
    let unreachable = quote!(::core::unreachable!("the tool does not compile"));
    let declaration = Declaration::new("tool", function, None);
    let declaration = if keys.client { declaration.without_body() } else { declaration };
    with_definition(&declaration, &private(keys.krate.as_ref()), &unreachable)
}

fn with_definition(declaration: &Declaration<'_>, private: &TokenStream, definition: &TokenStream) -> TokenStream {
    let (ident, cfgs) = (declaration.ident(), declaration.cfgs());
    quote! {
        #declaration

        #(#cfgs)*
        #[automatically_derived]
        impl #private::Tool for #ident {
            fn definition(&self) -> #private::ToolDef {
                #definition
            }
        }
    }
}

/// Returns the path of the module that the expansion refers to.
pub(super) fn private(krate: Option<&Path>) -> TokenStream {
    let krate = krate.map_or_else(|| quote!(::temporal_agents), ToTokens::to_token_stream);
    quote!(#krate::__private)
}
