//! Checks of a block and of its methods that are tools.

use proc_macro2::TokenStream;
use syn::{Attribute, ImplItem, ImplItemFn, ItemFn, ItemImpl, Meta, ext::IdentExt, spanned::Spanned};

use super::parse::SetKeys;
use crate::{
    mistakes::Mistakes,
    tool::{
        parse::Keys,
        validate::{self, Home, ToolFn},
    },
};

/// A method that is a tool: the keys of its `#[tool(..)]`, and the method itself.
pub(super) struct Method {
    pub(super) keys: Keys,
    pub(super) function: ItemFn,
}

/// Returns the methods with `#[tool]`.
pub(super) fn methods(set: &SetKeys, block: &ItemImpl, mistakes: &mut Mistakes) -> Vec<Method> {
    let mut methods = Vec::new();
    for item in &block.items {
        let ImplItem::Fn(method) = item else { continue };
        let Some(attribute) = method.attrs.iter().find(|attribute| is_tool(attribute)) else { continue };
        let mut keys = Keys::parse(in_parentheses(attribute, mistakes), mistakes);
        if let Some(krate) = &keys.krate {
            mistakes.on(krate, "write it once for all tools of the set: `#[tools(crate = ..)]`");
        }
        keys.krate.clone_from(&set.krate);
        let attrs = method.attrs.iter().filter(|attribute| !is_tool(attribute)).cloned().collect();
        let ImplItemFn { attrs: _, vis, modifiers, sig, block } = method.clone();
        methods.push(Method { keys, function: ItemFn { attrs, vis, modifiers, sig, block: Box::new(block) } });
    }
    methods
}

/// Checks the block, and each of its tools.
pub(super) fn validate<'m>(block: &ItemImpl, methods: &'m [Method], mistakes: &mut Mistakes) -> Vec<ToolFn<'m>> {
    if let Some((path, _)) = &block.trait_ {
        mistakes.on(path, "a set of tools is an inherent `impl` of a type, not the `impl` of a trait");
    }
    if !block.generics.params.is_empty() {
        let message = "a set of tools cannot be generic, because it is one state of a worker: name the types instead \
                       of generics or lifetimes";
        mistakes.on(&block.generics.params, message);
    }
    if methods.is_empty() {
        mistakes.on(&block.self_ty, "none of these methods is a tool: write `#[tool]` above those that are");
    }
    let read = |Method { keys, function }: &'m Method| validate::validate(keys, function, Home::Set, mistakes);
    let tools: Vec<ToolFn<'m>> = methods.iter().filter_map(read).collect();
    for (at, tool) in tools.iter().enumerate() {
        if tools[..at].iter().any(|other| other.name == tool.name) {
            let ident = &tool.function.sig.ident;
            mistakes.on(ident, format_args!("two tools of this set are named {:?}", tool.name));
        }
    }
    refuse_taken_names(block, &tools, mistakes);
    tools
}

/// Adds a mistake for each method with a name that the expansion adds to the type.
fn refuse_taken_names(block: &ItemImpl, tools: &[ToolFn<'_>], mistakes: &mut Mistakes) {
    for item in &block.items {
        let ImplItem::Fn(method) = item else { continue };
        let name = method.sig.ident.unraw().to_string();
        let tool = name.strip_suffix("_tool").filter(|tool| tools.iter().any(|other| other.function.sig.ident == tool));
        if name == "tools" {
            mistakes.on(&method.sig.ident, "`#[tools]` adds a function `tools` to the type: rename this one");
        } else if let Some(tool) = tool {
            let message = format!("`#[tools]` adds `{name}`, the definition of `{tool}`: rename this one");
            mistakes.on(&method.sig.ident, message);
        }
    }
}

/// Returns `true` if an attribute is `#[tool]`, by any path.
pub(super) fn is_tool(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "tool")
}

fn in_parentheses(attribute: &Attribute, mistakes: &mut Mistakes) -> TokenStream {
    match &attribute.meta {
        Meta::Path(_) => TokenStream::new(),
        Meta::List(list) => list.tokens.clone(),
        Meta::NameValue(pair) => {
            mistakes.at(pair.span(), "write `#[tool]`, or `#[tool(key = value)]`");
            TokenStream::new()
        }
    }
}
