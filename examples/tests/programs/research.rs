//! The research as a user runs it: the program itself, without a key.

use std::process::Command;

/// Runs the program, which must print these lines in this order, among others.
#[track_caller]
fn prints(arguments: &[&str], lines: &[&str]) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_research"));
    program.args(arguments).env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    let output = program.output().expect("the program can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let mut rest = &*text;
    for line in lines {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is missing, or comes too early, in:\n{text}"));
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn the_research_reads_and_notes_all_yearbooks() {
    let lines = [
        "worker 1 · turn  1 · list_years({})",
        "worker 1 · turn  2 · read_yearbook({\"year\":2001})",
        "worker 1 · turn  3 · note({\"year\":2001,\"day\":104})",
        "the conversation is shortened: ",
        "worker 1 · turn 38 · The first cherry blossom",
        "Report: The first cherry blossom",
        "  2001: day 104",
        "  2018: day ",
    ];
    prints(&[], &lines);
}

#[test]
fn a_killed_worker_costs_the_turn_that_was_under_way() {
    let lines = [
        "* worker 1 is process ",
        "worker 1 · turn  1 · list_years({})",
        "* SIGKILL for worker 1, in turn 2",
        "* worker 2 is process ",
        "worker 2 · turn 2",
        "worker 2 · turn 38 · The first cherry blossom",
        "Report: The first cherry blossom",
        "Turns before the crash that were not repeated: ",
    ];
    prints(&["--crash"], &lines);
}
