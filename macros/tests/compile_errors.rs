//! The likeliest mistakes with the macros, and what the compiler says about each.
//!
//! The messages are partly the compiler's own, and differ between releases: they are compared only
//! with the release that `rust-toolchain.toml` names.

#![allow(missing_docs, reason = "a test")]

use std::{error::Error, path::Path, process::Command};

#[test]
fn mistakes_are_explained() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace");
    let toolchain = std::fs::read_to_string(root.join("rust-toolchain.toml"))?;
    let wanted = toolchain.lines().find_map(|line| line.strip_prefix("channel = ")).unwrap_or_default();
    let version =
        Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())).arg("--version").output()?;
    let version = String::from_utf8_lossy(&version.stdout);
    if version.split(' ').nth(1) != Some(wanted.trim_matches('"')) {
        println!("not compared: the words are those of rustc {wanted}, this is {version}");
        return Ok(());
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
    Ok(())
}
