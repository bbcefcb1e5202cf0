//! The kinds of parameters: the value that the guardrail checks, or a context.

use quote::ToTokens;
use syn::{PatType, Type, TypeReference};

use super::parse::Side;
use crate::{
    declaration::stays,
    mistakes::Mistakes,
    types::{bare, has_impl, is_named},
};

/// A parameter of a guardrail.
pub(super) enum Parameter {
    /// The value that the guardrail checks.
    Subject(Subject),
    /// `&RunContext`.
    Run,
    /// `&GuardrailContext`.
    Guardrail,
    /// `&ToolContext`: the call of the activity.
    Call,
    /// The whole type `State<Api>`.
    State(Type),
}

/// The value that a guardrail checks, in the form of its parameter.
pub(super) enum Subject {
    /// The text, as `&str`.
    Text,
    /// The text, as `String`.
    OwnedText,
    /// The items of the input, as `GuardrailInput`.
    Items,
    /// The items of the input, as `&GuardrailInput`.
    ItemsRef,
    /// The output as this type.
    Parsed(Type),
    /// The output as a reference to this type.
    ParsedRef(Type),
}

impl Parameter {
    /// Parses a parameter; `None` if it cannot be a parameter of a guardrail.
    pub(super) fn read(side: Side, parameter: &PatType, mistakes: &mut Mistakes) -> Option<Self> {
        for attribute in parameter.attrs.iter().filter(|attribute| !stays(attribute)) {
            mistakes.on(attribute, "a parameter of a guardrail accepts only lint attributes");
        }
        let ty = bare(&parameter.ty);
        let (named, reference) = match ty {
            Type::Reference(reference) => (bare(&reference.elem), Some(reference)),
            ty => (ty, None),
        };
        if reference.is_some_and(|reference| reference.mutability.is_some()) {
            mistakes.on(ty, "a guardrail only reads its parameters: remove `mut`");
            return None;
        }
        if is_named(named, "State") {
            if reference.is_some() {
                mistakes.on(ty, "a state is passed by value: write `State(api): State<Api>`");
            }
            return Some(Self::State(named.clone()));
        }
        let contexts = [("RunContext", Self::Run), ("GuardrailContext", Self::Guardrail), ("ToolContext", Self::Call)];
        for (name, context) in contexts {
            if is_named(named, name) {
                if reference.is_none() {
                    mistakes.on(ty, format_args!("the context is passed by reference: take `&{name}`"));
                }
                return Some(context);
            }
        }
        match side {
            Side::Input => input(ty, named, reference, mistakes),
            Side::Output => output(ty, named, reference, mistakes),
        }
        .map(Self::Subject)
    }
}

fn input(ty: &Type, named: &Type, reference: Option<&TypeReference>, mistakes: &mut Mistakes) -> Option<Subject> {
    let subject = text(named, reference).or_else(|| {
        let items = if reference.is_some() { Subject::ItemsRef } else { Subject::Items };
        is_named(named, "GuardrailInput").then_some(items)
    });
    if subject.is_none() {
        mistakes.on(ty, "an input guardrail takes the input as text, `&str`, or as items, `GuardrailInput`");
    }
    subject
}

fn output(ty: &Type, named: &Type, reference: Option<&TypeReference>, mistakes: &mut Mistakes) -> Option<Subject> {
    if is_named(named, "GuardrailInput") {
        mistakes.on(ty, "an output guardrail takes the output: as `&str`, its text, or as the agent's output type");
        return None;
    }
    if has_impl(ty.to_token_stream()) {
        mistakes.on(ty, "the output is deserialized into one type: name that type instead of `impl Trait`");
        return None;
    }
    let parsed = || match reference {
        Some(_) => Subject::ParsedRef(named.clone()),
        None => Subject::Parsed(named.clone()),
    };
    Some(text(named, reference).unwrap_or_else(parsed))
}

fn text(named: &Type, reference: Option<&TypeReference>) -> Option<Subject> {
    match reference {
        Some(_) if is_named(named, "str") => Some(Subject::Text),
        None if is_named(named, "String") => Some(Subject::OwnedText),
        _ => None,
    }
}
