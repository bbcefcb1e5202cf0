//! The body of `Tool::definition`.
//!
//! The struct of the arguments is generic over their types, and so is the function that makes the
//! tool of it. An argument's type is then checked in one place only, the turbofish that calls this
//! function: an author who omits a derive gets one error, on the type in the signature.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Ident, ReturnType, Type, spanned::Spanned};

use crate::{
    declaration::local,
    tool::{
        parameter::{Argument, Parameter},
        parse::Approval,
        validate::{Home, ToolFn},
    },
};

/// Returns the body of `Tool::definition`.
pub(in crate::tool) fn body(tool: &ToolFn<'_>, private: &TokenStream) -> TokenStream {
    let arguments: Vec<&Argument> = tool
        .parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(argument),
            Parameter::Context { .. } | Parameter::State { .. } => None,
        })
        .collect();
    let (generics, types): (Vec<Ident>, Vec<_>) =
        arguments.iter().enumerate().map(|(at, argument)| (format_ident!("A{at}"), &argument.ty)).unzip();
    let declaration = arguments_struct(&arguments, &generics, private);
    if tool.keys.client {
        return client(tool, private, &declaration, &arguments, (&generics, &types));
    }
    let (constructor, body_type) = match (tool.keys.inline, tool.keys.workflow) {
        (true, _) => (quote!(inline), quote!(InlineFn)),
        (false, true) => (quote!(workflow), quote!(WorkflowFn)),
        (false, false) => (quote!(activity), quote!(ActivityFn)),
    };
    let (name, description) = (&tool.name, &tool.description);
    let lenient = tool.keys.lenient.then(|| quote!(.lenient::<__Arguments<#(#generics),*>>()));
    let closure = closure(tool, private);
    let settings = settings(tool, private);
    let Rule { parameter: asks_parameter, approval, argument: asks } = rule(tool, &arguments, &generics, private);
    quote! {
        #[allow(unused_imports, reason = "which one is used depends on the return type")]
        use #private::{ResultKind as _, ValueKind as _};

        #declaration

        fn __define<#(#generics: #private::ToolArgument),*>(
            __body: #private::#body_type<__Arguments<#(#generics),*>>,
            #asks_parameter
        ) -> #private::ToolDef {
            #private::ToolDef::#constructor(#name, #description, __body)#lenient #approval
        }

        // Schemas are expensive to make, and agents are built for each run.
        static __DEFINITION: #private::OnceLock<#private::ToolDef> = #private::OnceLock::new();
        __DEFINITION.get_or_init(|| __define::<#(#types),*>(#closure, #asks)#settings).clone()
    }
}

/// Returns the body of `Tool::definition` for a client tool.
fn client(
    tool: &ToolFn<'_>,
    private: &TokenStream,
    declaration: &TokenStream,
    arguments: &[&Argument],
    (generics, types): (&[Ident], &[&Type]),
) -> TokenStream {
    let (name, description) = (&tool.name, &tool.description);
    let lenient = tool.keys.lenient.then(|| quote!(.lenient::<__Arguments<#(#generics),*>>()));
    let Rule { parameter, approval, argument } = rule(tool, arguments, generics, private);
    let returned = match &tool.function.sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => ty.to_token_stream(),
    };
    quote! {
        #[allow(dead_code, reason = "the type of the output is recorded for its supplier")]
        type __Output = #returned;

        #[allow(dead_code, reason = "the arguments are read elsewhere")]
        #declaration

        fn __define<#(#generics: #private::ToolArgument),*>(#parameter) -> #private::ToolDef {
            #private::ToolDef::client_of::<__Arguments<#(#generics),*>>(#name, #description)#lenient #approval
        }

        // Schemas are expensive to make, and agents are built for each run.
        static __DEFINITION: #private::OnceLock<#private::ToolDef> = #private::OnceLock::new();
        __DEFINITION.get_or_init(|| __define::<#(#types),*>(#argument)).clone()
    }
}

/// The code of the approval rule, for three places: the call of `__define`, where the types are
/// known, passes the rule's function as an argument to its parameter.
struct Rule {
    parameter: TokenStream,
    approval: TokenStream,
    argument: TokenStream,
}

fn rule(tool: &ToolFn<'_>, arguments: &[&Argument], generics: &[Ident], private: &TokenStream) -> Rule {
    let nothing = TokenStream::new();
    let (parameter, approval, argument) = match &tool.keys.approval {
        None => (nothing.clone(), nothing.clone(), nothing),
        Some(Approval::Always) => (nothing.clone(), quote!(.approval(#private::NeedsApproval::Always)), nothing),
        Some(Approval::When(condition)) => {
            let names = arguments.iter().map(|argument| &argument.ident);
            (
                quote!(__asks: fn(__Arguments<#(#generics),*>) -> bool),
                quote!(.approval(#private::asks_for(__asks))),
                quote! {
                    |__arguments| {
                        #[allow(unused_variables, reason = "a rule reads the arguments that it judges")]
                        let __Arguments { #(#names),* } = __arguments;
                        #condition
                    }
                },
            )
        }
    };
    Rule { parameter, approval, argument }
}

fn arguments_struct(arguments: &[&Argument], generics: &[Ident], private: &TokenStream) -> TokenStream {
    let private_path = private.to_string().replace(' ', "");
    let (serde, schemars) = (format!("{private_path}::serde"), format!("{private_path}::schemars"));
    let fields = arguments.iter().zip(generics).map(|(argument, generic)| {
        let ident = &argument.ident;
        let description = argument.description.iter();
        quote!(#(#[schemars(description = #description)])* #ident: #generic)
    });
    quote! {
        #[derive(#private::serde::Deserialize, #private::schemars::JsonSchema)]
        #[serde(crate = #serde)]
        #[schemars(crate = #schemars)]
        struct __Arguments<#(#generics),*> {
            #(#fields,)*
        }
    }
}

/// Returns the closure that calls the author's body.
fn closure(tool: &ToolFn<'_>, private: &TokenStream) -> TokenStream {
    let [ctx, arguments, returned] = ["ctx", "arguments", "returned"].map(local);
    let mut states = Vec::new();
    let mut values = Vec::new();
    let (mut uses_ctx, mut uses_arguments) = (false, false);
    let callee = match tool.home {
        Home::Function => quote!(Self.call),
        Home::Set => {
            uses_ctx = true;
            let (set, method) = (local("set"), &tool.function.sig.ident);
            states.push(quote! {
                let #private::State(#set) = <#private::State<Self> as #private::FromToolContext>::from_context(#ctx)?;
            });
            quote!(#set.#method)
        }
    };
    for parameter in &tool.parameters {
        match parameter {
            Parameter::Context { .. } => {
                uses_ctx = true;
                values.push(quote!(#ctx));
            }
            Parameter::State { ty, .. } => {
                uses_ctx = true;
                let state = local(&format!("state_{}", states.len()));
                values.push(quote!(#state));
                states.push(quote!(let #state = <#ty as #private::FromToolContext>::from_context(#ctx)?;));
            }
            Parameter::Argument(Argument { ident, .. }) => {
                uses_arguments = true;
                // The expansion reads the field, not the author, so lints about names must not
                // apply.
                let mut field = ident.clone();
                field.set_span(Span::call_site());
                values.push(quote!(#arguments.#field));
            }
        }
    }
    let ctx = if uses_ctx { quote!(#ctx) } else { quote!(_) };
    let taken = if uses_arguments { quote!(#arguments) } else { quote!(_) };
    let into_output = into_output(tool, &returned);
    if tool.keys.inline {
        quote! {
            |#ctx, #taken| {
                let #returned = #callee(#(#values),*);
                #into_output
            }
        }
    } else {
        quote! {
            |#ctx, #taken| {
                #private::Box::pin(async move {
                    #(#states)*
                    let #returned = #callee(#(#values),*).await;
                    #into_output
                })
            }
        }
    }
}

/// Returns the conversion of the body's result; errors about it point at the return type.
fn into_output(tool: &ToolFn<'_>, returned: &Ident) -> TokenStream {
    let span = match &tool.function.sig.output {
        ReturnType::Default => tool.function.sig.ident.span(),
        ReturnType::Type(_, ty) => ty.span(),
    };
    let span = span.resolved_at(Span::mixed_site());
    let returned = Ident::new(&returned.to_string(), span);
    quote_spanned!(span=> (&#returned).tool_kind().into_output(#returned))
}

/// Returns the setters for the tool: states, keys of the run context, options.
fn settings(tool: &ToolFn<'_>, private: &TokenStream) -> TokenStream {
    let states = tool.parameters.iter().filter_map(|parameter| match parameter {
        Parameter::State { ty, .. } => Some(ty),
        Parameter::Context { .. } | Parameter::Argument(_) => None,
    });
    let mut settings = quote!(#(.requires(<#states as #private::FromToolContext>::requirement()))*);
    if tool.home == Home::Set {
        settings.extend(quote!(.requires(<#private::State<Self> as #private::FromToolContext>::requirement())));
    }
    let context = &tool.keys.context;
    if !context.is_empty() {
        settings.extend(quote!(.with_context([#(#context),*])));
    }
    settings.extend(tool.keys.options.expand(private).map(|options| quote!(.options(#options))));
    settings
}
