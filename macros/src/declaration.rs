//! The struct that a function becomes, with the function itself inside of its method `call`: for
//! tools and guardrails.
//!
//! The function stays whole in there, so that in its body its name still means the function: it may
//! call itself, and its parameters and variables may have its name, which a unit struct with that
//! name would forbid.
//!
//! # Design
//! **`#[tool]` makes a unit struct.** `agent.tool(get_weather)` then takes a value that carries
//! schema, options and body, without a registry and without a second mention of the name. The
//! expansion refers to nothing of the worker, so a crate of tools builds without it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, Ident, ItemFn, Pat, Safety, Type, Visibility};

/// The author's function, which is expanded as a struct with a method.
pub(crate) struct Declaration<'a> {
    /// Noun for the struct in messages and documentation, such as "tool".
    noun: &'static str,
    function: &'a ItemFn,
    /// Documentation of the struct if the function has no doc comment.
    description: Option<&'a str>,
    /// `true` if the struct has a method `call`.
    has_body: bool,
}

impl<'a> Declaration<'a> {
    /// Returns the declaration of this function.
    pub(crate) fn new(noun: &'static str, function: &'a ItemFn, description: Option<&'a str>) -> Self {
        Self { noun, function, description, has_body: true }
    }

    /// Omits `call`, for a function that was written without a body.
    pub(crate) fn without_body(self) -> Self {
        Self { has_body: false, ..self }
    }

    /// Name of the struct.
    pub(crate) fn ident(&self) -> &Ident {
        &self.function.sig.ident
    }

    /// Visibility of the function.
    pub(crate) fn vis(&self) -> &Visibility {
        &self.function.vis
    }

    /// Returns the `cfg` attributes, which every item of the expansion needs.
    pub(crate) fn cfgs(&self) -> Vec<&Attribute> {
        self.attributes(|path| path == "cfg")
    }

    /// Returns the attributes of the struct: documentation and `cfg`. All others concern the body.
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

    /// Returns the function in the form inside of `call`: private, and without the attributes that
    /// are on the struct.
    fn inner(&self) -> ItemFn {
        let mut inner = stripped(self.function);
        inner
            .attrs
            .retain(|attribute| !["doc", "deprecated", "cfg"].iter().any(|name| attribute.path().is_ident(name)));
        inner.vis = Visibility::Inherited;
        // Validation rejects these; without them the compiler can still check the rest.
        (inner.sig.constness, inner.sig.safety, inner.sig.abi) = (None, Safety::Default, None);
        inner.sig.variadic = None;
        inner
    }

    /// Returns the parameters of `call`.
    fn parameters(&self) -> impl Iterator<Item = (Ident, &Type)> {
        let name = |at: usize, pattern: &Pat| match named(pattern) {
            // A parameter cannot have the name of the struct; a name with an underscore triggers
            // lints.
            Some(name) if name != self.ident() && !name.to_string().starts_with('_') => name.clone(),
            _ => Ident::new(&format!("argument_{at}"), Span::mixed_site()),
        };
        self.function.sig.inputs.iter().enumerate().filter_map(move |(at, input)| match input {
            FnArg::Typed(parameter) => Some((name(at, &parameter.pat), &*parameter.ty)),
            FnArg::Receiver(_) => None,
        })
    }

    fn method(&self) -> TokenStream {
        let (ident, vis, inner) = (self.ident(), &self.function.vis, self.inner());
        let (asyncness, output) = (&inner.sig.asyncness, &inner.sig.output);
        let (generics, _, clause) = inner.sig.generics.split_for_impl();
        let dot_await = asyncness.map(|_| quote!(.await));
        let (names, types): (Vec<_>, Vec<_>) = self.parameters().unzip();
        let doc = format!(" Runs the {}'s body.", self.noun);
        let reason = format!("the signature of a {} is fixed", self.noun);
        quote! {
            #[doc = #doc]
            #vis #asyncness fn call #generics (self, #(#names: #types),*) #output #clause {
                #[allow(clippy::needless_pass_by_value, clippy::unused_async, reason = #reason)]
                #inner
                #ident(#(#names),*)#dot_await
            }
        }
    }
}

/// Returns the function without the parameter attributes that only the macro understands.
pub(crate) fn stripped(function: &ItemFn) -> ItemFn {
    let mut function = function.clone();
    function.sig.inputs.iter_mut().for_each(strip);
    function
}

/// Removes the attributes of a parameter that only the macro understands.
pub(crate) fn strip(input: &mut FnArg) {
    match input {
        FnArg::Typed(parameter) => parameter.attrs.retain(stays),
        FnArg::Receiver(receiver) => receiver.attrs.retain(stays),
    }
}

/// Returns the name for a variable of the expansion. No tool or guardrail has such a name, because
/// a variable cannot have the name of a unit struct.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(&format!("__{name}"), Span::mixed_site())
}

/// Returns `true` if an attribute of a parameter is kept: lint attributes are.
pub(crate) fn stays(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|lint| attribute.path().is_ident(lint))
}

/// Returns the only name that a pattern binds: `api` of `State(api)`.
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
        let reason = format!("a {} is named like the function it was written as", self.noun);
        tokens.extend(quote! {
            #(#of_struct)*
            #description
            #[allow(non_camel_case_types, reason = #reason)]
            #[derive(::core::clone::Clone, ::core::marker::Copy, ::core::fmt::Debug)]
            #vis struct #ident;
        });
        if self.has_body {
            let method = self.method();
            tokens.extend(quote! {
                #(#cfgs)*
                impl #ident {
                    #method
                }
            });
        }
    }
}
