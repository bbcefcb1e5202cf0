//! The address of a server on the command line of each program that connects to one.
//!
//! No server is started: `--help` behind an address makes a program parse the address, and end.

use std::process::{Command, Output};

/// Programs, and the arguments that come before an address.
const PROGRAMS: [(&str, &[&str]); 5] = [
    (env!("CARGO_BIN_EXE_approval"), &["--target"]),
    (env!("CARGO_BIN_EXE_client_tools"), &["--target"]),
    (env!("CARGO_BIN_EXE_quickstart"), &["worker"]),
    (env!("CARGO_BIN_EXE_research"), &["worker"]),
    (env!("CARGO_BIN_EXE_streaming"), &["worker", "--address"]),
];

fn helped(program: &str, before: &[&str], address: &str) -> Output {
    let mut program = Command::new(program);
    program.args(before).args([address, "--help"]).output().expect("the program can be started")
}

#[test]
fn every_program_accepts_an_address_in_both_forms() {
    for (program, before) in PROGRAMS {
        for address in ["localhost:7233", "http://localhost:7233", "https://localhost:7233", "[::1]:7233"] {
            let output = helped(program, before, address);
            assert!(output.status.success(), "{program} {address}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn every_program_refuses_another_address_and_names_both_forms() {
    for (program, before) in PROGRAMS {
        for address in ["", " localhost:7233", "localhost"] {
            let output = helped(program, before, address);
            let error = String::from_utf8_lossy(&output.stderr);
            let flag = before.last().filter(|argument| argument.starts_with("--")).unwrap_or(&"<ADDRESS>");
            for part in [*flag, &format!("{address:?}"), "HOST:PORT", "http://localhost:7233"] {
                assert!(error.contains(part), "{program} {address:?}: {part:?} is missing in {error}");
            }
        }
    }
}

#[test]
fn a_variable_with_another_address_is_named() {
    for value in ["", "localhost"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_streaming"));
        program.args(["worker", "--task-queue", "stories"]).env("TEMPORAL_ADDRESS", value);
        let output = program.output().expect("the program can be started");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(&format!("TEMPORAL_ADDRESS: {value:?} is not the address of a server")), "{error}");
    }
}
