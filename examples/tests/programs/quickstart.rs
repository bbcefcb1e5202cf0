//! The README's first command, as a user runs it: the program itself, without a key.

use std::process::{Command, Output};

fn quickstart(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .args(arguments)
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENAI_BASE_URL")
        .output()
        .expect("the program can be started")
}

fn stdout(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_quickstart_prints_its_progress_and_the_answer() {
    let text = stdout(&quickstart(&["--prompt", "To Oslo, please."]));
    let lines = [
        "OPENAI_API_KEY is not set: a scripted model plays.",
        "> To Oslo, please.",
        "triage · turn 1 · asks gpt-5-mini",
        "  -> transfer_to_planner({})",
        "  => triage hands off to planner",
        "  <- cost_of_nights = 160",
        "planner has finished",
        "Answer: go to Oslo for 210 euros",
        "Workflow trip-1; with --keep the server stays up",
    ];
    let mut rest = text.as_str();
    for line in lines {
        let at = rest.find(line).unwrap_or_else(|| panic!("{line:?} is missing, or comes too early, in:\n{text}"));
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn two_killed_workers_cost_one_attempt() {
    let text = stdout(&quickstart(&["--crash"]));
    for line in [
        "SIGKILL for worker 1, between two calls",
        "SIGKILL for worker 2, during a model call",
        "Under way at a kill, and run a second time: 1.",
        "Answer: go to Oslo for 210 euros",
    ] {
        assert!(text.contains(line), "{line:?} is missing in:\n{text}");
    }
}
