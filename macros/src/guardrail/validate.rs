//! Joins attribute and signature to a guardrail, or reports their mistakes.

use proc_macro2::Span;
use syn::{FnArg, ItemFn, LitStr, ReturnType, Safety, Signature, ext::IdentExt, spanned::Spanned};

use super::{
    parameter::Parameter,
    parse::{Keys, Side},
};
use crate::{mistakes::Mistakes, types::is_named};

/// A function that is a guardrail.
pub(super) struct GuardrailFn<'a> {
    /// The values of the attribute's keys.
    pub(super) keys: &'a Keys,
    /// The author's function.
    pub(super) function: &'a ItemFn,
    /// The side of a run that the guardrail checks.
    pub(super) side: Side,
    /// Name under which the guardrail is reported.
    pub(super) name: String,
    /// The parameters, in order.
    pub(super) parameters: Vec<Parameter>,
}

/// Checks attribute and signature. `None` if the function cannot be read as a guardrail; `mistakes`
/// may have grown in either case.
pub(super) fn validate<'a>(keys: &'a Keys, function: &'a ItemFn, mistakes: &mut Mistakes) -> Option<GuardrailFn<'a>> {
    refuse_kind(keys, &function.sig, mistakes);
    refuse_signature(&function.sig, mistakes);
    refuse_return_type(&function.sig, mistakes);
    let name = read_name(keys.name.as_ref(), &function.sig, mistakes);
    let side = keys.side()?;
    let parameters = read_parameters(keys, side, &function.sig, mistakes);
    Some(GuardrailFn { keys, function, side, name: name?, parameters })
}

/// Adds a mistake if a guardrail in an activity is not `async`, or a pure one is.
fn refuse_kind(keys: &Keys, signature: &Signature, mistakes: &mut Mistakes) {
    match (keys.activity, &signature.asyncness) {
        (false, Some(asyncness)) => mistakes.on(
            asyncness,
            "a pure guardrail runs in the workflow and cannot wait: remove `async`,\n\
             or add `activity` to `#[guardrail(..)]`, so that it runs on a worker and may do I/O",
        ),
        (true, None) => mistakes.on(
            signature.fn_token,
            "a guardrail with `activity` runs on a worker: write `async fn`, or remove `activity` for a pure one",
        ),
        _ => {}
    }
}

fn refuse_signature(signature: &Signature, mistakes: &mut Mistakes) {
    if let Some(token) = &signature.constness {
        mistakes.on(token, "a guardrail cannot be a `const fn`");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        mistakes.on(token, "a run cannot uphold the safety contract of an `unsafe fn`: remove `unsafe`");
    }
    if let Some(abi) = &signature.abi {
        mistakes.on(abi, "a guardrail cannot be an `extern` function: remove `extern`");
    }
    if !signature.generics.params.is_empty() {
        mistakes.on(&signature.generics.params, "a guardrail cannot be generic: name the types, and remove lifetimes");
    }
    if let Some(clause) = &signature.generics.where_clause {
        mistakes.on(clause, "a guardrail cannot be generic: remove the `where` clause");
    }
    if let Some(variadic) = &signature.variadic {
        mistakes.on(variadic, "a guardrail cannot be variadic: it has a fixed list of parameters");
    }
}

/// Adds a mistake for the most likely wrong return types; the compiler rejects the others.
fn refuse_return_type(signature: &Signature, mistakes: &mut Mistakes) {
    match &signature.output {
        ReturnType::Default => mistakes.on(
            &signature.ident,
            "a guardrail must return its result: write `-> GuardrailOutput` or `-> Result<GuardrailOutput, YourError>`",
        ),
        ReturnType::Type(_, ty) if is_named(ty, "bool") => mistakes.on(
            ty,
            "the meaning of `true` is ambiguous: return `GuardrailOutput`, such as \
             `GuardrailOutput::trip_if(is_homework)`",
        ),
        ReturnType::Type(..) => {}
    }
}

fn read_parameters(keys: &Keys, side: Side, signature: &Signature, mistakes: &mut Mistakes) -> Vec<Parameter> {
    let mut parameters: Vec<Parameter> = Vec::new();
    let mut is_whole = true;
    for input in &signature.inputs {
        let parameter = match input {
            FnArg::Receiver(receiver) => {
                let message = "a guardrail is a free function: move it out of the `impl`";
                mistakes.on(receiver, message);
                is_whole = false;
                continue;
            }
            FnArg::Typed(parameter) => parameter,
        };
        let Some(read) = Parameter::read(side, parameter, mistakes) else {
            is_whole = false;
            continue;
        };
        if let Some(message) = refused(keys, side, &read, &parameters) {
            mistakes.on(&parameter.ty, message);
        }
        parameters.push(read);
    }
    if is_whole && !parameters.iter().any(|parameter| matches!(parameter, Parameter::Subject(_))) {
        let message = match side {
            Side::Input => "an input guardrail checks the input: add `input: &str`, or `input: GuardrailInput`",
            Side::Output => {
                "an output guardrail checks the output: add `output: &str`, or a parameter of the agent's output type"
            }
        };
        mistakes.at(signature.paren_token.span.span(), message);
    }
    parameters
}

/// Returns the mistake of a parameter after those before it, if any.
fn refused(keys: &Keys, side: Side, parameter: &Parameter, before: &[Parameter]) -> Option<String> {
    let is_there = |wanted: fn(&Parameter) -> bool| before.iter().any(wanted);
    match parameter {
        Parameter::Subject(_) if is_there(|other| matches!(other, Parameter::Subject(_))) => {
            let word = side.word();
            let message = format!("an {word} guardrail checks only the {word}: remove one of the two parameters");
            Some(if keys.activity { message + ", or take it as `State`" } else { message })
        }
        Parameter::State(_) if !keys.activity => Some(
            "a pure guardrail runs in the workflow, where the state of a worker is unavailable: remove `State`, or \
             add `activity` and write `async fn`"
                .to_owned(),
        ),
        Parameter::Call if !keys.activity => {
            Some("a pure guardrail does not run in an activity: take `&GuardrailContext` or `&RunContext`".to_owned())
        }
        Parameter::Run if keys.activity && keys.context.is_empty() => Some(
            "a guardrail in an activity receives only the keys of the run context that it names: add \
             `context(\"user\")`"
                .to_owned(),
        ),
        _ => None,
    }
}

/// Returns the name under which the guardrail is reported; `None` if an activity cannot have it.
fn read_name(key: Option<&LitStr>, signature: &Signature, mistakes: &mut Mistakes) -> Option<String> {
    let (name, span): (String, Span) = match key {
        Some(key) => (key.value(), key.span()),
        None => (signature.ident.unraw().to_string(), signature.ident.span()),
    };
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if (1..=64).contains(&name.len()) && name.bytes().all(is_fine) {
        return Some(name);
    }
    let hint = if key.is_some() { "" } else { "\nset another with `name = \"..\"`" };
    mistakes.at(span, format_args!("a guardrail's name must be 1 to 64 letters, digits, `_` or `-`{hint}"));
    None
}
