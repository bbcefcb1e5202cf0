//! The struct that a function becomes, and the function itself inside of its method `call`.
//!
//! The function stays whole in there, so that in its body its name still means the function: it may call itself, and its
//! parameters and variables may have its name, which that of a unit struct would forbid.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, Ident, ItemFn, Pat, Safety, Type, Visibility};

use crate::tool::parameter;

/// The author's function, to be written as a struct with a method.
pub(super) struct Declaration<'a> {
    function: &'a ItemFn,
    /// Stands in for a doc comment that is not there.
    description: Option<&'a str>,
}

impl<'a> Declaration<'a> {
    /// The declaration of this function.
    pub(super) fn new(function: &'a ItemFn, description: Option<&'a str>) -> Self {
        Self { function, description }
    }

    /// The struct's name.
    pub(super) fn ident(&self) -> &Ident {
        &self.function.sig.ident
    }

    /// What every item of the expansion needs to carry.
    pub(super) fn cfgs(&self) -> Vec<&Attribute> {
        self.attributes(|path| path == "cfg")
    }

    /// The attributes of the struct: documentation. Everything else is about the body.
    fn of_struct(&self) -> Vec<&Attribute> {
        self.attributes(|path| matches!(path, "doc" | "deprecated" | "cfg"))
    }

    fn attributes(&self, wanted: impl Fn(&str) -> bool) -> Vec<&Attribute> {
        let name = |attribute: &Attribute| attribute.path().get_ident().map(Ident::to_string).unwrap_or_default();
        self.function.attrs.iter().filter(|attribute| wanted(&name(attribute))).collect()
    }

    fn description(&self) -> Option<TokenStream> {
        let described = self.function.attrs.iter().any(|attribute| attribute.path().is_ident("doc"));
        self.description.filter(|_| !described).map(|text| {
            let text = format!(" {text}");
            quote!(#[doc = #text])
        })
    }

    /// The function as it goes into `call`: private, without what only the macro understands.
    fn inner(&self) -> ItemFn {
        let mut inner = self.function.clone();
        inner
            .attrs
            .retain(|attribute| !["doc", "deprecated", "cfg"].iter().any(|name| attribute.path().is_ident(name)));
        inner.vis = Visibility::Inherited;
        // These are refused; without them the rest can still be checked.
        (inner.sig.constness, inner.sig.safety, inner.sig.abi) = (None, Safety::Default, None);
        inner.sig.variadic = None;
        for input in &mut inner.sig.inputs {
            if let FnArg::Typed(parameter) = input {
                parameter.attrs.retain(parameter::stays);
            }
        }
        inner
    }

    /// The parameters of `call`; `None` when the function has a `self` of its own.
    fn parameters(&self) -> Option<Vec<(Ident, &Type)>> {
        let name = |at: usize, pattern: &Pat| match named(pattern) {
            Some(name) if name != self.ident() => name.clone(),
            _ => Ident::new(&format!("argument_{at}"), Span::mixed_site()),
        };
        let inputs = self.function.sig.inputs.iter().enumerate();
        inputs
            .map(|(at, input)| match input {
                FnArg::Typed(parameter) => Some((name(at, &parameter.pat), &*parameter.ty)),
                FnArg::Receiver(_) => None,
            })
            .collect()
    }

    fn method(&self, parameters: Vec<(Ident, &Type)>) -> TokenStream {
        let (ident, vis, inner) = (self.ident(), &self.function.vis, self.inner());
        let (asyncness, output) = (&inner.sig.asyncness, &inner.sig.output);
        let (generics, _, clause) = inner.sig.generics.split_for_impl();
        let dot_await = asyncness.map(|_| quote!(.await));
        let (names, types): (Vec<_>, Vec<_>) = parameters.into_iter().unzip();
        quote! {
            /// Runs the tool's body.
            #vis #asyncness fn call #generics (self, #(#names: #types),*) #output #clause {
                #[allow(clippy::needless_pass_by_value, clippy::unused_async, reason = "a tool's signature is like that")]
                #inner
                #ident(#(#names),*)#dot_await
            }
        }
    }
}

/// The one name that a pattern binds: `api` of `State(api)`.
fn named(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(name) => Some(&name.ident),
        Pat::TupleStruct(pattern) if pattern.elems.len() == 1 => pattern.elems.first().and_then(named),
        _ => None,
    }
}

impl ToTokens for Declaration<'_> {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (ident, vis) = (self.ident(), &self.function.vis);
        let (of_struct, cfgs, description) = (self.of_struct(), self.cfgs(), self.description());
        let method = self.parameters().map(|parameters| self.method(parameters));
        tokens.extend(quote! {
            #(#of_struct)*
            #description
            #[allow(non_camel_case_types, reason = "a tool is named like the function it was written as")]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
            #vis struct #ident;

            #(#cfgs)*
            impl #ident {
                #method
            }
        });
    }
}
