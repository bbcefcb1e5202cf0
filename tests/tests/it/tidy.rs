//! What the compiler does not check: who may import whom, what the engine may not hold, what the workflow half pulls in.

mod ci;
mod dependencies;
mod determinism;
mod headers;
mod layers;

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a directory of the workspace")
}

/// The Rust files below a directory of the workspace, without tests, as paths relative to that directory.
pub(crate) fn sources(directory: &str) -> Vec<PathBuf> {
    let root = workspace().join(directory);
    let mut found = Vec::new();
    let mut pending = vec![root.clone()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        for entry in entries {
            let path = entry.expect("a readable directory").path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            match (path.is_dir(), name) {
                (_, "tests" | "tests.rs" | "target") => {}
                (true, _) => pending.push(path),
                (false, _) if path.extension().is_some_and(|extension| extension == "rs") => {
                    found.push(path.strip_prefix(&root).expect("below the root").to_owned());
                }
                (false, _) => {}
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{directory} has no Rust files");
    found
}

pub(crate) fn read(directory: &str, file: &Path) -> String {
    let path = workspace().join(directory).join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tokens of a file in a row: names, punctuation and brackets. Comments and literals are left out.
fn tokens(directory: &str, file: &Path) -> Vec<String> {
    tokens_of(&read(directory, file)).unwrap_or_else(|error| panic!("{directory}/{}: {error}", file.display()))
}

fn tokens_of(source: &str) -> Result<Vec<String>, proc_macro2::LexError> {
    let mut tokens = Vec::new();
    flatten(source.parse()?, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, into: &mut Vec<String>) {
    for token in stream {
        match token {
            TokenTree::Ident(name) => into.push(name.to_string()),
            TokenTree::Punct(punct) => into.push(punct.to_string()),
            TokenTree::Literal(_) => {}
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                into.push(open.to_owned());
                flatten(group.stream(), into);
                into.push(close.to_owned());
            }
        }
    }
}
