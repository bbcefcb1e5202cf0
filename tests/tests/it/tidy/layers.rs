//! `wire <- agent, tool <- engine <- drive` in the core, and the rooms of the worker half in the facade.

use std::path::Path;

use super::{sources, tokens, tokens_of};

/// The directories of the core, and what each may import beside itself.
const CORE: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("tool", &["wire", "agent"]),
    ("agent", &["wire", "tool"]),
    ("engine", &["wire", "tool", "agent"]),
    ("gate", &["wire", "tool", "agent"]),
    ("drive", &["wire", "tool", "agent", "engine", "gate"]),
];

/// The directories of the facade, and what each may import beside itself. `worker` joins the rooms of the worker half.
const FACADE: &[(&str, &[&str])] = &[
    ("guide", &[]),
    ("workflow", &[]),
    ("secret", &[]),
    ("store", &[]),
    ("conversations", &[]),
    ("provider", &["secret"]),
    ("metrics", &["provider", "workflow"]),
    ("deltas", &["client", "events", "metrics", "provider", "secret", "workflow"]),
    ("activity", &["conversations", "deltas", "metrics", "provider", "secret", "store", "workflow"]),
    ("mcp", &["activity", "conversations", "deltas", "metrics", "provider", "secret", "store"]),
    ("events", &[]),
    ("client", &["conversations", "events", "provider", "workflow"]),
    ("resources", &["mcp", "provider", "remote", "secret", "store"]),
    ("inline", &["activity", "deltas", "events", "mcp", "metrics", "provider", "remote", "resources", "secret"]),
    ("remote", &["activity", "conversations", "deltas", "metrics", "secret", "store", "trace"]),
    ("projection", &["client", "events", "store", "trace"]),
    // The inbox and the chat of the workflows, as tasks.
    ("in_process", &["workflow", "activity", "client", "events", "inline", "metrics", "remote", "resources", "store"]),
    ("trace", &["activity", "client", "events", "provider", "workflow"]),
    // What a workflow does while it replays, against its history.
    ("replay", &["workflow"]),
    ("http", &["client", "events", "replay", "store"]),
    ("agentic_session", &["activity", "client", "deltas", "events", "inline", "provider", "store"]),
    (
        "worker",
        &[
            "activity",
            "agentic_session",
            "client",
            "conversations",
            "deltas",
            "events",
            "in_process",
            "inline",
            "mcp",
            "metrics",
            "provider",
            "remote",
            "replay",
            "resources",
            "secret",
            "store",
            "trace",
            "workflow",
        ],
    ),
];

#[test]
fn imports_follow_the_arrows() {
    let wrong: Vec<String> = [("sdk/core/src", CORE), ("sdk/src", FACADE)]
        .into_iter()
        .flat_map(|(root, rows)| wrong_imports(root, rows))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the imports against the arrows. Files beside the directories are the names that a crate shows.
fn wrong_imports(root: &str, rows: &[(&str, &[&str])]) -> Vec<String> {
    let mut wrong = Vec::new();
    for file in sources(root) {
        let Some(directory) = file.parent().and_then(|parent| parent.iter().next()?.to_str()) else { continue };
        let Some((_, may_import)) = rows.iter().find(|(name, _)| *name == directory) else {
            panic!("{root}/{directory} is not in the table");
        };
        for import in imports(&tokens(root, &file), depth(&file)) {
            if import != directory && !may_import.contains(&&*import) {
                wrong.push(format!("{root}/{}: {directory} may not use crate::{import}", file.display()));
            }
        }
    }
    wrong
}

/// How many `super::` lead from a file to the crate's root.
fn depth(file: &Path) -> usize {
    let names = file.iter().count();
    if file.ends_with("mod.rs") { names - 1 } else { names }
}

/// The first name of every path that starts at the crate's root.
fn imports(tokens: &[String], depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let after_root = match &*tokens[at] {
            // `$crate` of a macro is what its callers name.
            "crate" if at == 0 || tokens[at - 1] != "$" => path_goes_on(tokens, at + 1),
            "super" => {
                let mut supers = 1;
                let mut next = path_goes_on(tokens, at + 1);
                while let Some(after) = next.filter(|after| tokens.get(*after).is_some_and(|token| token == "super")) {
                    supers += 1;
                    at = after;
                    next = path_goes_on(tokens, after + 1);
                }
                next.filter(|_| supers >= depth)
            }
            _ => None,
        };
        if let Some(after) = after_root {
            first_names(tokens, after, &mut found);
        }
        at += 1;
    }
    found
}

/// The place after a `::`, where there is one.
fn path_goes_on(tokens: &[String], at: usize) -> Option<usize> {
    (tokens.get(at)? == ":" && tokens.get(at + 1)? == ":").then_some(at + 2)
}

/// The name here, or those at the start of each member of the group here.
fn first_names(tokens: &[String], at: usize, found: &mut Vec<String>) {
    if tokens[at] != "{" {
        found.push(tokens[at].clone());
        return;
    }
    let mut open = 0;
    let mut starts = false;
    for token in &tokens[at..] {
        match &**token {
            "{" => {
                starts = open == 0;
                open += 1;
            }
            "}" => open -= 1,
            "," if open == 1 => starts = true,
            name if starts => {
                found.push(name.to_owned());
                starts = false;
            }
            _ => {}
        }
        if open == 0 {
            return;
        }
    }
}

#[test]
fn every_form_of_a_path_to_the_root_is_found() {
    let found = |source: &str, depth| imports(&tokens_of(source).unwrap(), depth);
    assert_eq!(found("use crate::wire::Item;", 2), ["wire"]);
    assert_eq!(
        found("use crate::{agent::{Agent, Graph}, wire, tool::schema::{self, Issue}};", 2),
        ["agent", "wire", "tool"]
    );
    assert_eq!(
        found("fn f() -> crate::Model { <crate::engine::Engine>::new(super::super::drive::X) }", 2),
        ["Model", "engine", "drive"]
    );
    assert_eq!(found("use super::{wire::Item, sibling};", 1), ["wire", "sibling"]);
    assert_eq!(
        found("use super::sibling; pub(crate) struct A; // crate::worker\n/// [`crate::Model`]\nstruct B;", 2),
        [""; 0]
    );
}
