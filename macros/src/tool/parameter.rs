//! The kinds of parameters: an argument of the model, the context of the call, or a state of the
//! worker.

use quote::ToTokens;
use syn::{Attribute, Ident, Pat, PatType, Type, TypeReference, ext::IdentExt};

use crate::{
    declaration::stays,
    doc_comment,
    mistakes::Mistakes,
    types::{bare, has_impl, is_named},
};

/// A parameter of a tool.
pub(super) enum Parameter {
    /// The context: `ctx: &ToolContext` or `&mut ToolContext`; in a workflow tool also
    /// `WorkflowToolContext`.
    Context {
        /// Names of the variables that the pattern binds.
        names: Vec<String>,
    },
    /// A state of the worker: `State(api): State<WeatherApi>`.
    State {
        /// The type `State<WeatherApi>`.
        ty: Type,
        /// Names of the variables that the pattern binds.
        names: Vec<String>,
    },
    /// Any other parameter, which is an argument that the model writes.
    Argument(Argument),
}

/// An argument that the model writes.
pub(super) struct Argument {
    /// Name of the argument, as the author wrote it.
    pub(super) ident: Ident,
    /// Type of the argument.
    pub(super) ty: Type,
    /// Description of the argument for the model.
    pub(super) description: Option<String>,
}

impl Argument {
    /// Returns the name for the model: without `r#`.
    pub(super) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

impl Parameter {
    /// Parses a parameter; `None` if it cannot be a parameter of a tool.
    pub(super) fn read(parameter: &PatType, mistakes: &mut Mistakes) -> Option<Self> {
        refuse_attributes(&parameter.attrs, mistakes);
        let read = match bare(&parameter.ty) {
            Type::Reference(reference)
                if is_named(&reference.elem, "ToolContext") || is_named(&reference.elem, "WorkflowToolContext") =>
            {
                Some(Self::Context { names: names(&parameter.pat) })
            }
            ty if is_named(ty, "ToolContext") => {
                mistakes.on(ty, "the context is passed by reference: take `&ToolContext` or `&mut ToolContext`");
                Some(Self::Context { names: names(&parameter.pat) })
            }
            ty if is_named(ty, "WorkflowToolContext") => {
                mistakes.on(
                    ty,
                    "the context is passed by reference: take `&WorkflowToolContext` or `&mut WorkflowToolContext`",
                );
                Some(Self::Context { names: names(&parameter.pat) })
            }
            ty if is_named(ty, "State") => Some(Self::State { ty: ty.clone(), names: names(&parameter.pat) }),
            ty => {
                let named = argument_name(&parameter.pat, mistakes);
                let owned = is_owned(ty, mistakes);
                let description = doc_comment::text(&parameter.attrs);
                named.filter(|_| owned).map(|ident| Self::Argument(Argument { ident, ty: ty.clone(), description }))
            }
        };
        if let Some(Self::Context { .. } | Self::State { .. }) = read {
            for comment in parameter.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")) {
                mistakes.on(
                    comment,
                    "this parameter is not an argument of the model, so its doc comment has no effect: remove it",
                );
            }
        }
        read
    }
}

fn refuse_attributes(attributes: &[Attribute], mistakes: &mut Mistakes) {
    for attribute in attributes {
        if !stays(attribute) && !attribute.path().is_ident("doc") {
            let message = "a parameter of a tool accepts only doc comments and lint attributes; to use others, take a \
                           struct as the argument and put them on its fields";
            mistakes.on(attribute, message);
        }
    }
}

fn argument_name(pattern: &Pat, mistakes: &mut Mistakes) -> Option<Ident> {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => Some(name.ident.clone()),
        _ => {
            mistakes.on(
                pattern,
                "the model needs a name for this argument: write a plain name, and destructure it in the body",
            );
            None
        }
    }
}

/// Returns `true` if a value of this type can be made from the model's JSON: not a reference, not
/// `impl Trait`.
fn is_owned(ty: &Type, mistakes: &mut Mistakes) -> bool {
    match ty {
        Type::Reference(reference) => {
            let message = format!(
                "the arguments are deserialized from the model's JSON and cannot be borrowed: take `{}`",
                owned(reference)
            );
            mistakes.on(ty, message);
            false
        }
        ty if has_impl(ty.to_token_stream()) => {
            mistakes.on(ty, "the model's JSON is deserialized into one type: name that type instead of `impl Trait`");
            false
        }
        _ => true,
    }
}

/// Returns the owned form of a borrowed type, as an author would write it.
fn owned(reference: &TypeReference) -> String {
    match bare(&reference.elem) {
        Type::Slice(slice) => format!("Vec<{}>", spelled(&slice.elem)),
        ty if is_named(ty, "str") => "String".to_owned(),
        ty if is_named(ty, "Path") => "PathBuf".to_owned(),
        ty => spelled(ty),
    }
}

fn spelled(ty: &Type) -> String {
    ty.to_token_stream().to_string().replace(" < ", "<").replace(" >", ">").replace(" :: ", "::").replace(" ,", ",")
}

/// Returns the names that a pattern binds, as far as messages need them.
fn names(pattern: &Pat) -> Vec<String> {
    match pattern {
        Pat::Ident(name) => vec![name.ident.unraw().to_string()],
        Pat::TupleStruct(pattern) => pattern.elems.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}
