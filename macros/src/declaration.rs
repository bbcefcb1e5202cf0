//! The struct that a function becomes, and the function itself inside of its method `call`: for
//! tools and guardrails.
//!
//! The function stays whole in there, so that in its body its name still means the function: it may
//! call itself, and its parameters and variables may have its name, which that of a unit struct
//! would forbid.
//!
//! # Design
//! **`#[tool]` makes a unit struct.** So `agent.tool(get_weather)` takes a value that carries
//! schema, options and body, without a registry and without naming the tool twice. The expansion
//! names nothing of the worker, so a crate of tools builds without it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::{Attribute, FnArg, Ident, ItemFn, Pat, Safety, Type, Visibility};

/// The author's function, to be written as a struct with a method.
pub(crate) struct Declaration<'a> {
    /// What it becomes: a "tool", say.
    noun: &'static str,
    function: &'a ItemFn,
    /// Stands in for a doc comment that is not there.
    description: Option<&'a str>,
    /// Whether there is something to call.
    has_body: bool,
}

impl<'a> Declaration<'a> {
    /// The declaration of this function.
    pub(crate) fn new(noun: &'static str, function: &'a ItemFn, description: Option<&'a str>) -> Self {
        Self { noun, function, description, has_body: true }
    }

    /// The same without `call`: the function was written without a body.
    pub(crate) fn without_body(self) -> Self {
        Self { has_body: false, ..self }
    }

    /// The struct's name.
    pub(crate) fn ident(&self) -> &Ident {
        &self.function.sig.ident
    }

    /// How visible the function is.
    pub(crate) fn vis(&self) -> &Visibility {
        &self.function.vis
    }

    /// What every item of the expansion needs to carry.
    pub(crate) fn cfgs(&self) -> Vec<&Attribute> {
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

    /// The function as it goes into `call`: private, and without what stands at the struct.
    fn inner(&self) -> ItemFn {
        let mut inner = stripped(self.function);
        inner
            .attrs
            .retain(|attribute| !["doc", "deprecated", "cfg"].iter().any(|name| attribute.path().is_ident(name)));
        inner.vis = Visibility::Inherited;
        // These are refused; without them the rest can still be checked.
        (inner.sig.constness, inner.sig.safety, inner.sig.abi) = (None, Safety::Default, None);
        inner.sig.variadic = None;
        inner
    }

    /// The parameters of `call`.
    fn parameters(&self) -> impl Iterator<Item = (Ident, &Type)> {
        let name = |at: usize, pattern: &Pat| match named(pattern) {
            // The struct would be in the way of a parameter of its name; lints, of an underscore.
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
        let reason = format!("{}s are like that", self.noun);
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

/// The function without what only the macro understands at its parameters.
pub(crate) fn stripped(function: &ItemFn) -> ItemFn {
    let mut function = function.clone();
    function.sig.inputs.iter_mut().for_each(strip);
    function
}

/// Takes from a parameter what only the macro understands.
pub(crate) fn strip(input: &mut FnArg) {
    match input {
        FnArg::Typed(parameter) => parameter.attrs.retain(stays),
        FnArg::Receiver(receiver) => receiver.attrs.retain(stays),
    }
}

/// The name of a variable of the expansion. No tool or guardrail has it: a unit struct would be in
/// the variable's way.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(&format!("__{name}"), Span::mixed_site())
}

/// Whether an attribute of a parameter stays on it: lints do.
pub(crate) fn stays(attribute: &Attribute) -> bool {
    ["allow", "expect", "warn", "deny", "forbid"].iter().any(|lint| attribute.path().is_ident(lint))
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
