//! Checks the block that gets the handlers.

use syn::{Attribute, ImplItem, ImplItemFn, ItemImpl};

use crate::mistakes::Mistakes;

/// Names of the methods that are added. The SDK makes a constant and a type of each name.
pub(super) const METHODS: [&str; 8] = [
    "agent_decide",
    "agent_supply_output",
    "agent_state",
    "stream_publish",
    "stream_poll",
    "stream_admits_poll",
    "stream_read",
    "stream_offset",
];

/// Names of the handlers that are added.
const HANDLERS: [&str; 6] = [
    "agent_decide",
    "agent_supply_output",
    "agent_state",
    "__temporal_workflow_stream_publish",
    "__temporal_workflow_stream_poll",
    "__temporal_workflow_stream_offset",
];

/// Adds all mistakes of the block.
pub(super) fn validate(block: &ItemImpl, mistakes: &mut Mistakes) {
    if let Some((path, _)) = &block.trait_ {
        mistakes.on(path, "`#[agent_handlers]` goes above the workflow's own `impl`, not above that of a trait");
        return;
    }
    if !block.generics.params.is_empty() {
        mistakes.on(&block.generics.params, "a workflow of the SDK cannot be generic");
    }
    if is_expanded_by_sdk(block) {
        mistakes.on(
            &block.self_ty,
            "`#[workflow_methods]` has already been expanded: write `#[agent_handlers]` above `#[workflow_methods]`",
        );
        return;
    }
    if !block.attrs.iter().any(is_workflow_methods) {
        mistakes.on(
            &block.self_ty,
            "`#[workflow_methods]` must process these handlers: write it between `#[agent_handlers]` and `impl`",
        );
    }
    for method in methods(block) {
        let name = method.sig.ident.to_string();
        if METHODS.contains(&&*name) {
            let message = format!("`#[agent_handlers]` adds a method `{name}`: rename this one");
            mistakes.on(&method.sig.ident, message);
        }
        for handler in method.attrs.iter().filter_map(handler_name).filter(|handler| HANDLERS.contains(&&**handler)) {
            if handler != name {
                let message = format!("`#[agent_handlers]` adds a handler {handler:?}: rename this one");
                mistakes.on(&method.sig.ident, message);
            }
        }
    }
}

/// Returns the method with `#[run]`.
pub(super) fn run(block: &ItemImpl) -> Option<&ImplItemFn> {
    methods(block).find(|method| method.attrs.iter().any(|attribute| attribute.path().is_ident("run")))
}

fn methods(block: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    block.items.iter().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    })
}

fn is_workflow_methods(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|last| last.ident == "workflow_methods")
}

/// Returns `true` if the SDK's macro was expanded first: it removes its attributes, and renames the
/// methods to names with two leading underscores.
fn is_expanded_by_sdk(block: &ItemImpl) -> bool {
    !block.attrs.iter().any(is_workflow_methods)
        && run(block).is_none()
        && methods(block).any(|method| method.sig.ident.to_string().starts_with("__"))
}

/// Returns the name in `#[update(name = "..")]`, `#[query(..)]`, `#[signal(..)]`.
fn handler_name(attribute: &Attribute) -> Option<String> {
    ["update", "query", "signal"].iter().find(|kind| attribute.path().is_ident(kind))?;
    let mut found = None;
    // The SDK reports the entries that this does not parse.
    let _ = attribute.parse_nested_meta(|meta| {
        if meta.path.is_ident("name") {
            found = meta.value()?.parse::<syn::LitStr>().ok().map(|name| name.value());
        }
        Ok(())
    });
    found
}
