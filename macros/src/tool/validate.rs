//! Joins attribute, signature and doc comments to a tool, or reports their mistakes.

use proc_macro2::Span;
use syn::{FnArg, ItemFn, LitStr, Receiver, ReceiverKind, Safety, Signature, Type, ext::IdentExt};

use super::{
    docs::{Bullet, Docs},
    parameter::{Argument, Parameter},
    parse::Keys,
};
use crate::{
    attribute::did_you_mean,
    mistakes::Mistakes,
    types::{bare, is_named},
};

/// The place of a tool's function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// A free function in a module.
    Function,
    /// A method in the `impl` of a set, whose value is a state of the worker.
    Set,
}

/// A function that is a tool.
pub(super) struct ToolFn<'a> {
    /// The values of the attribute's keys.
    pub(super) keys: &'a Keys,
    /// The author's function.
    pub(super) function: &'a ItemFn,
    /// The place of the function.
    pub(super) home: Home,
    /// Name that the model calls.
    pub(super) name: String,
    /// Description of the tool for the model.
    pub(super) description: String,
    /// The parameters, in order.
    pub(super) parameters: Vec<Parameter>,
}

/// Checks attribute, signature and doc comments. `None` if the function cannot be read as a tool;
/// `mistakes` may have grown in either case.
pub(super) fn validate<'a>(
    keys: &'a Keys,
    function: &'a ItemFn,
    home: Home,
    mistakes: &mut Mistakes,
) -> Option<ToolFn<'a>> {
    match home {
        Home::Function => refuse_kind(keys, &function.sig, mistakes),
        Home::Set => refuse_kind_in_set(keys, &function.sig, mistakes),
    }
    refuse_signature(&function.sig, mistakes);
    let mut parameters = read_parameters(keys, &function.sig, home, mistakes);
    let docs = Docs::read(&function.attrs, mistakes);
    describe(&mut parameters, docs.bullets, mistakes);
    let name = read_name(keys.name.as_ref(), &function.sig, mistakes);
    let description = keys.description.as_ref().map_or(docs.description, |text| text.value().trim().to_owned());
    if description.is_empty() {
        let message = format!(
            "a tool needs a description: it tells the model when to call it\n\
             write a doc comment above `fn {0}`, or `#[tool(description = \"..\")]`",
            function.sig.ident
        );
        mistakes.on(&function.sig.ident, message);
    }
    Some(ToolFn { keys, function, home, name: name?, description, parameters })
}

/// Adds a mistake if an activity tool is not `async`, or if an inline tool or a client tool is.
fn refuse_kind(keys: &Keys, signature: &Signature, mistakes: &mut Mistakes) {
    if let (true, Some(asyncness)) = (keys.client, &signature.asyncness) {
        mistakes.on(asyncness, "a client tool has no body to await: remove `async`");
    }
    match (keys.inline, &signature.asyncness) {
        _ if keys.client => {}
        (true, Some(asyncness)) => mistakes.on(
            asyncness,
            "an inline tool runs in the workflow and cannot wait: remove `async`, or remove `inline` for an activity \
             tool",
        ),
        (false, None) => mistakes.on(
            signature.fn_token,
            "write `async fn` for an activity tool, which runs on a worker and may do I/O,\n\
             or `#[tool(inline)]` for a pure function, which runs in the workflow",
        ),
        _ => {}
    }
}

/// Adds a mistake if a tool of a set is not an activity that takes `&self`.
fn refuse_kind_in_set(keys: &Keys, signature: &Signature, mistakes: &mut Mistakes) {
    if keys.client {
        mistakes.on(&signature.ident, "a client tool has no body that could use the set: move it out of the `impl`");
    } else if keys.inline || keys.workflow {
        let key = if keys.inline { "inline" } else { "workflow" };
        let message = format!(
            "the set belongs to the worker, and this tool runs in the workflow: remove `{key}`, or move the function \
             out of the `impl`"
        );
        mistakes.on(&signature.ident, message);
    } else if signature.asyncness.is_none() {
        mistakes.on(signature.fn_token, "write `async fn`: a tool of a set is an activity, and may do I/O");
    }
    match signature.receiver() {
        None => {
            let message = "a tool of a set takes `&self`: add it, or make the tool a free function with `#[tool]`";
            mistakes.on(&signature.ident, message);
        }
        Some(Receiver { kind: ReceiverKind::Reference(_, None, None), .. }) => {}
        Some(receiver) => {
            let message = "calls share the set: take `&self`, and keep mutable data in an `Arc<Mutex<..>>`";
            mistakes.on(receiver, message);
        }
    }
}

fn refuse_signature(signature: &Signature, mistakes: &mut Mistakes) {
    if let Some(token) = &signature.constness {
        mistakes.on(token, "a tool cannot be a `const fn`");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        mistakes.on(token, "a model cannot uphold the safety contract of an `unsafe fn`: remove `unsafe`");
    }
    if let Some(abi) = &signature.abi {
        mistakes.on(abi, "a tool cannot be an `extern` function: remove `extern`");
    }
    if !signature.generics.params.is_empty() {
        let message = "a tool has one schema and cannot be generic: name the types instead of generics or lifetimes";
        mistakes.on(&signature.generics.params, message);
    }
    if let Some(clause) = &signature.generics.where_clause {
        mistakes.on(clause, "a tool cannot be generic: remove the `where` clause");
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.on(variadic, "a tool has a fixed list of arguments: take a `Vec`");
    }
}

fn read_parameters(keys: &Keys, signature: &Signature, home: Home, mistakes: &mut Mistakes) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        let parameter = match input {
            FnArg::Receiver(_) if home == Home::Set => continue,
            FnArg::Receiver(receiver) => {
                let message = "a tool is a free function: move it out of the `impl`, and take the worker's state as \
                               `State(api): State<Api>`, or write `#[tools]` above the `impl`";
                mistakes.on(receiver, message);
                continue;
            }
            FnArg::Typed(parameter) => parameter,
        };
        let Some(read) = Parameter::read(parameter, mistakes) else { continue };
        match &read {
            Parameter::Context { .. } if !keys.workflow && is_of_workflow(&parameter.ty) => {
                let message = "this context is only for tools that run in the workflow: write `#[tool(workflow)]`, or \
                               take `&ToolContext`";
                mistakes.on(&parameter.ty, message);
            }
            Parameter::State { ty, .. } if keys.workflow => {
                let message = "a workflow tool runs in the workflow, where the state of a worker is unavailable: \
                               remove `State` and call an activity that has it, or remove `workflow`";
                mistakes.on(ty, message);
            }
            Parameter::Context { .. } if parameters.iter().any(|other| matches!(other, Parameter::Context { .. })) => {
                mistakes.on(&parameter.ty, "a tool takes only one context: remove one of the two");
            }
            Parameter::Context { .. } | Parameter::State { .. } if keys.client => {
                let message =
                    "a client tool runs at the caller, which receives only the arguments: remove this parameter";
                mistakes.on(&parameter.ty, message);
            }
            Parameter::State { ty, .. } if keys.inline => {
                let message = "an inline tool runs in the workflow, where the state of a worker is unavailable: \
                               remove `State`, or remove `inline` and write `async fn`";
                mistakes.on(ty, message);
            }
            _ => {}
        }
        parameters.push(read);
    }
    parameters
}

/// Returns `true` if the context is that of a workflow tool.
fn is_of_workflow(ty: &Type) -> bool {
    matches!(bare(ty), Type::Reference(reference) if is_named(&reference.elem, "WorkflowToolContext"))
        || is_named(ty, "WorkflowToolContext")
}

/// Sets the description of each argument to the text of its bullet.
fn describe(parameters: &mut [Parameter], bullets: Vec<Bullet>, mistakes: &mut Mistakes) {
    for Bullet { name, text, span } in bullets {
        match find(parameters, &name) {
            Some(Parameter::Argument(argument)) if argument.description.is_some() => {
                mistakes.at(span, format_args!("`{name}` is already described: remove this line"));
            }
            Some(Parameter::Argument(argument)) => argument.description = Some(text).filter(|text| !text.is_empty()),
            Some(Parameter::Context { .. } | Parameter::State { .. }) => {
                mistakes.at(span, format_args!("`{name}` is not an argument of the model: remove this line"));
            }
            None => mistakes.at(span, no_such_argument(parameters, &name)),
        }
    }
}

fn find<'a>(parameters: &'a mut [Parameter], name: &str) -> Option<&'a mut Parameter> {
    parameters.iter_mut().find(|parameter| match parameter {
        Parameter::Argument(argument) => argument.name() == name,
        Parameter::Context { names } | Parameter::State { names, .. } => names.iter().any(|other| other == name),
    })
}

fn no_such_argument(parameters: &[Parameter], name: &str) -> String {
    let known: Vec<String> = parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument(argument) => Some(Argument::name(argument)),
            Parameter::Context { .. } | Parameter::State { .. } => None,
        })
        .collect();
    let hint = did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(|| match known.as_slice() {
        [] => "the tool has no arguments".to_owned(),
        known => format!("the arguments are `{}`", known.join("`, `")),
    });
    format!("no argument is called `{name}`; {hint}")
}

/// Returns the name that the model calls; `None` if a model cannot call it.
fn read_name(key: Option<&LitStr>, signature: &Signature, mistakes: &mut Mistakes) -> Option<String> {
    let (name, span): (String, Span) = match key {
        Some(key) => (key.value(), key.span()),
        None => (signature.ident.unraw().to_string(), signature.ident.span()),
    };
    let refused = if !(1..=64).contains(&name.len()) || !name.bytes().all(is_name_byte) {
        format!("a model cannot call {name:?}: a tool's name must be 1 to 64 letters, digits, `_` or `-`")
    } else if name.starts_with("transfer_to_") {
        "names that start with `transfer_to_` are reserved for handoffs".to_owned()
    } else {
        return Some(name);
    };
    let hint = if key.is_some() { "" } else { "\nset another with `#[tool(name = \"..\")]`" };
    mistakes.at(span, format_args!("{refused}{hint}"));
    None
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
