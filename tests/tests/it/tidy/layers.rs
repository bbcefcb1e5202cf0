//! `wire <- agent, tool <- engine <- drive <- workflow | rooms of the worker half <- worker`.

use std::path::Path;

use super::{sources, tokens, tokens_of};

/// The loop and its contract, which every host builds on.
const LOOP: &[&str] = &["wire", "tool", "agent", "engine", "gate", "drive"];

/// The directories of the crate, and what each may import beside itself: the loop or parts of it, and rooms of the worker half.
const MAY_IMPORT: [(&str, &[&str], &[&str]); 27] = [
    ("guide", &[], &[]),
    ("wire", &[], &[]),
    ("tool", &["wire", "agent"], &[]),
    ("agent", &["wire", "tool"], &[]),
    ("engine", &["wire", "tool", "agent"], &[]),
    ("gate", &["wire", "tool", "agent"], &[]),
    ("drive", &["wire", "tool", "agent", "engine", "gate"], &[]),
    ("workflow", LOOP, &[]),
    ("secret", LOOP, &[]),
    ("store", LOOP, &[]),
    ("conversations", LOOP, &[]),
    ("provider", LOOP, &["secret"]),
    ("metrics", &["wire", "drive"], &["provider"]),
    ("deltas", LOOP, &["client", "events", "metrics", "provider", "secret"]),
    ("activity", LOOP, &["conversations", "deltas", "metrics", "provider", "secret", "store"]),
    ("mcp", LOOP, &["activity", "conversations", "deltas", "metrics", "provider", "secret", "store"]),
    ("events", &["wire"], &[]),
    ("client", LOOP, &["conversations", "events", "provider"]),
    ("resources", LOOP, &["mcp", "provider", "remote", "secret", "store"]),
    ("inline", LOOP, &["activity", "deltas", "events", "mcp", "metrics", "provider", "remote", "resources", "secret"]),
    ("remote", &["wire", "tool"], &["activity", "conversations", "deltas", "metrics", "secret", "store"]),
    ("projection", LOOP, &["client", "events", "store", "trace"]),
    // The engine, the inbox and the chat of the workflows, as tasks.
    (
        "in_process",
        &["wire", "tool", "agent", "engine", "drive", "workflow"],
        &["activity", "client", "events", "inline", "metrics", "remote", "resources", "store"],
    ),
    ("trace", &["wire", "tool"], &["activity", "client", "events", "provider"]),
    // What a workflow does while it replays, against its history.
    ("replay", &["wire", "tool", "agent", "workflow"], &[]),
    ("http", LOOP, &["client", "events", "replay", "store"]),
    ("agentic_session", LOOP, &["activity", "client", "deltas", "events", "inline", "provider", "store"]),
];

/// The directory that joins the rooms of the worker half, and may import all of them.
const JOINS: &str = "worker";

/// The files beside the directories: the names that the crate shows.
const ROOT: [&str; 3] = ["lib.rs", "run.rs", "internal.rs"];

#[test]
fn imports_follow_the_arrows() {
    let mut wrong = Vec::new();
    for file in sources("sdk/src") {
        let Some(directory) = file.parent().and_then(|parent| parent.iter().next()?.to_str()) else {
            assert!(ROOT.iter().any(|root| file == Path::new(root)), "{} lies in no directory", file.display());
            continue;
        };
        for import in imports(&tokens("sdk/src", &file), depth(&file)) {
            if import != directory && !may_import(directory, &import) {
                wrong.push(format!("sdk/src/{}: {directory} may not use crate::{import}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn may_import(directory: &str, import: &str) -> bool {
    if directory == JOINS {
        return import != "workflow";
    }
    let Some((_, of_loop, rooms)) = MAY_IMPORT.iter().find(|(name, ..)| *name == directory) else {
        panic!("sdk/src/{directory} has no place in MAY_IMPORT");
    };
    of_loop.contains(&import) || rooms.contains(&import)
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
