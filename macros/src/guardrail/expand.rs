//! Expands a guardrail: a unit struct, its body as a method, and the conversion to the SDK's
//! guardrail.
//!
//! The code refers only to items of `__private`, keeps the author's tokens with their spans, and
//! holds calls, not logic.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Ident, ItemFn, ReturnType, Type, spanned::Spanned};

use super::{
    parameter::{Parameter, Subject},
    parse::{Keys, Side},
    validate::GuardrailFn,
};
use crate::{
    declaration::{self, Declaration, local},
    doc_comment,
};

/// Returns the code of a guardrail.
pub(super) fn guardrail(guardrail: &GuardrailFn<'_>) -> TokenStream {
    let private = private(guardrail.keys);
    let definition = definition(guardrail, &private);
    let declaration = Declaration::new("guardrail", guardrail.function, None);
    let conversion = conversion(&declaration, guardrail.side, &private, &definition);
    quote!(#declaration #conversion)
}

/// Returns the code of a function with mistakes: it defines all names, so that only the function's
/// own mistakes are reported.
pub(super) fn stub(keys: &Keys, function: &ItemFn) -> TokenStream {
    if function.sig.receiver().is_some() {
        // Inside of an `impl`, which cannot contain a struct.
        return declaration::stripped(function).into_token_stream();
    }
    let unreachable = quote!(::core::unreachable!("the guardrail does not compile"));
    let declaration = Declaration::new("guardrail", function, None);
    // Without a side it converts to both guardrails, so that every use compiles.
    let sides = keys.side().map_or_else(|| vec![Side::Input, Side::Output], |side| vec![side]);
    let conversions = sides.into_iter().map(|side| conversion(&declaration, side, &private(keys), &unreachable));
    quote!(#declaration #(#conversions)*)
}

fn conversion(
    declaration: &Declaration<'_>,
    side: Side,
    private: &TokenStream,
    definition: &TokenStream,
) -> TokenStream {
    let (ident, cfgs) = (declaration.ident(), declaration.cfgs());
    let guardrail = type_of(side);
    quote! {
        #(#cfgs)*
        #[automatically_derived]
        impl ::core::convert::From<#ident> for #private::#guardrail {
            fn from(_: #ident) -> Self {
                #definition
            }
        }
    }
}

fn type_of(side: Side) -> Ident {
    let name = match side {
        Side::Input => "InputGuardrail",
        Side::Output => "OutputGuardrail",
    };
    Ident::new(name, Span::call_site())
}

/// Returns the body of the conversion.
fn definition(guardrail: &GuardrailFn<'_>, private: &TokenStream) -> TokenStream {
    let name = &guardrail.name;
    let check = if guardrail.keys.activity { activity(guardrail, private) } else { pure(guardrail, private) };
    let blocking = guardrail.keys.blocking.then(|| quote!(.blocking()));
    quote!(Self::with_check(#name, #check)#blocking)
}

fn pure(guardrail: &GuardrailFn<'_>, private: &TokenStream) -> TokenStream {
    let values = Values::of(guardrail, private);
    let Values { ctx, seen, before, arguments } = &values;
    let ident = &guardrail.function.sig.ident;
    let found = found(guardrail, private, &quote!(#ident.call(#(#arguments),*)));
    let pure = Ident::new(&format!("pure_{}", guardrail.side.word()), Span::call_site());
    quote! {
        #private::#pure(|#ctx, #seen| {
            #(#before)*
            #found
        })
    }
}

fn activity(guardrail: &GuardrailFn<'_>, private: &TokenStream) -> TokenStream {
    let values = Values::of(guardrail, private);
    let Values { ctx, seen, before, arguments } = &values;
    let GuardrailFn { keys, function, name, .. } = guardrail;
    let ident = &function.sig.ident;
    let found = found(guardrail, private, &quote!(#ident.call(#(#arguments),*).await));
    let activity = Ident::new(&format!("{}_activity", guardrail.side.word()), Span::call_site());
    let description = doc_comment::text(&function.attrs).unwrap_or_default();
    let states = guardrail.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::State(ty) => Some(ty),
        _ => None,
    });
    let context = (!keys.context.is_empty()).then(|| {
        let keys = &keys.context;
        quote!(.with_context([#(#keys),*]))
    });
    let options = keys.options.expand(private).map(|options| quote!(.options(#options)));
    quote! {
        #private::Check::Activity(#private::Box::new(
            #private::#activity(#name, #description, |#ctx, #seen| {
                #private::Box::pin(async move {
                    #(#before)*
                    #found
                })
            })
            #(.requires(<#states as #private::FromToolContext>::requirement()))*
            #context
            #options
        ))
    }
}

/// Returns the conversion of the body's result; errors about it point at the return type.
fn found(guardrail: &GuardrailFn<'_>, private: &TokenStream, call: &TokenStream) -> TokenStream {
    let span = match &guardrail.function.sig.output {
        ReturnType::Default => guardrail.function.sig.ident.span(),
        ReturnType::Type(_, ty) => ty.span(),
    };
    let span = span.resolved_at(Span::mixed_site());
    let returned = Ident::new(&local("returned").to_string(), span);
    let into_found =
        if guardrail.keys.activity { quote!(ActivityReturn::into_output) } else { quote!(GuardrailReturn::into_found) };
    let converted = quote_spanned!(span=> #private::#into_found(#returned));
    quote! {
        let #returned = #call;
        #converted
    }
}

/// The values of the body's parameters.
struct Values {
    /// The context parameter of the closure.
    ctx: TokenStream,
    /// The parameter of the closure with the input or the output.
    seen: TokenStream,
    /// Statements before the call that make values of both parameters.
    before: Vec<TokenStream>,
    /// The arguments of the call.
    arguments: Vec<TokenStream>,
}

impl Values {
    fn of(guardrail: &GuardrailFn<'_>, private: &TokenStream) -> Self {
        let [ctx, seen, subject] = ["ctx", "seen", "subject"].map(local);
        let is_activity = guardrail.keys.activity;
        let mut before = Vec::new();
        let mut arguments = Vec::new();
        let (mut uses_ctx, mut uses_seen) = (false, false);
        for (place, parameter) in guardrail.parameters.iter().enumerate() {
            match parameter {
                Parameter::Subject(form) => {
                    uses_seen = true;
                    let (made, argument) = subject_of(form, guardrail.side, is_activity, private, &seen, &subject);
                    before.extend(made);
                    arguments.push(argument);
                    continue;
                }
                Parameter::Run if is_activity => arguments.push(quote!(#ctx.run())),
                Parameter::Run => arguments.push(quote!(#ctx.run)),
                Parameter::Guardrail if is_activity => arguments.push(quote!(&#private::guardrail_context(#ctx))),
                Parameter::Guardrail | Parameter::Call => arguments.push(quote!(#ctx)),
                Parameter::State(ty) => {
                    let state = local(&format!("state_{place}"));
                    before.push(quote!(let #state = <#ty as #private::FromToolContext>::from_context(#ctx)?;));
                    arguments.push(quote!(#state));
                }
            }
            uses_ctx = true;
        }
        if uses_ctx && is_activity {
            before.insert(0, quote!(let #ctx = &*#ctx;));
        }
        let ctx = if uses_ctx { quote!(#ctx) } else { quote!(_) };
        let seen = if uses_seen { quote!(#seen) } else { quote!(_) };
        Self { ctx, seen, before, arguments }
    }
}

/// Returns the statement that makes the checked value of the closure's parameter, if it needs one,
/// and the argument expression.
fn subject_of(
    form: &Subject,
    side: Side,
    is_activity: bool,
    private: &TokenStream,
    seen: &Ident,
    subject: &Ident,
) -> (Option<TokenStream>, TokenStream) {
    let text = match side {
        Side::Input if is_activity => quote!(#private::GuardrailInput(&#seen).text()),
        Side::Input => quote!(#seen.text()),
        Side::Output if is_activity => quote!(#private::output_text(&#seen)),
        Side::Output => quote!(#private::output_text(#seen)),
    };
    let items = if is_activity { quote!(#private::GuardrailInput(&#seen)) } else { quote!(*#seen) };
    let parsed = |ty: &Type| {
        let output = if is_activity { quote!(&#seen) } else { quote!(#seen) };
        let parse = quote_spanned!(ty.span().resolved_at(Span::mixed_site())=> parse_output::<#ty>);
        quote!(let #subject = #private::#parse(#output)?;)
    };
    match form {
        Subject::Text => (None, quote!(&#text)),
        Subject::OwnedText => (None, text),
        Subject::Items => (None, items),
        Subject::ItemsRef => (None, quote!(&#items)),
        Subject::Parsed(ty) => (Some(parsed(ty)), quote!(#subject)),
        Subject::ParsedRef(ty) => (Some(parsed(ty)), quote!(&#subject)),
    }
}

fn private(keys: &Keys) -> TokenStream {
    let krate = keys.krate.as_ref().map_or_else(|| quote!(::temporal_agents), ToTokens::to_token_stream);
    quote!(#krate::__private)
}
