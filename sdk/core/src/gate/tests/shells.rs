//! What the gate reads, against what `bash` and `dash` start.
//!
//! Commands are generated from a seed. Those that the gate lets through run in both shells, where
//! each program is a stub that logs its name and arguments. `SEEDS=100000 cargo test -p
//! temporal-agents --lib shells -- --nocapture` plays so many; `AGENTS_TEST_SEED` chooses others.
//!
//! # Design
//! **Nothing outside of the scratch directory is in reach.** A command that has a path elsewhere is
//! not played, `PATH` has only stubs, and root gives its rights up for the shells. Each command has
//! a process group, which is ended after it.

mod commands;
mod dice;
mod stubs;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use serde_json::json;

use self::{
    commands::{ALLOWED, Kind, generate},
    dice::{Dice, cases, seed},
    stubs::{RUN_OTHERS, Started, Stubs, find_shell},
};
use super::{Gate, GateMode, GateVerdict, GatedCall, Part, Rule, parts};

/// Commands that are played without `SEEDS`.
const CASES: u64 = 3_000;

/// Threads that play commands.
const WORKERS: u64 = 4;

/// The gates that decide about each command.
struct Gates {
    /// Allows the harmless programs, and asks about the rest.
    allows: Gate,
    /// Denies `rm`, and a forced push.
    denies_programs: Gate,
    /// Denies a text.
    denies_text: Gate,
}

impl Gates {
    fn new(stubs: &Stubs) -> Self {
        let path = format!("{}tool", stubs.elsewhere());
        let allow = |program: &str| json!({"id": program, "decision": "allow", "program": program});
        let allows: Vec<_> = ALLOWED.into_iter().map(allow).chain([allow(&path)]).collect();
        let denies_programs = json!([
            {"id": "rm", "decision": "deny", "program": "rm"},
            {"id": "force", "decision": "deny", "program": "git", "args_prefix": ["push"],
             "contains_any": ["--force", "-f", "+*"]},
        ]);
        let denies_text = json!([{"id": "secret", "decision": "deny", "pattern": "secret"}]);
        let gate = |mode, rules| {
            let rules: Vec<Rule> = serde_json::from_value(rules).expect("rules");
            Gate::new(mode).rules(rules)
        };
        Self {
            allows: gate(GateMode::ApproveUnknown, json!(allows)),
            denies_programs: gate(GateMode::Autonomous, denies_programs),
            denies_text: gate(GateMode::Autonomous, denies_text),
        }
    }
}

/// What was counted.
#[derive(Default)]
struct Counts {
    plain: AtomicU64,
    plain_allowed: AtomicU64,
    allowed: AtomicU64,
    run_despite_rules: AtomicU64,
    shells: AtomicU64,
    programs: AtomicU64,
    not_played: AtomicU64,
    timeouts: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn runs(gate: &Gate, arguments: &str) -> bool {
    let call = GatedCall { tool: "run", place: "", arguments, mode: None };
    matches!(gate.verdict(&call), GateVerdict::Run { .. })
}

/// Returns `true` for a shell that runs a script.
fn runs_script(part: &Part) -> bool {
    matches!(part.name(), "sh" | "bash") && !part.is_wrapper && !part.arguments.is_empty()
}

/// Returns what is wrong with the programs that a shell has started.
fn find_fault(stubs: &Stubs, verdicts: [bool; 3], parts: &[Part], started: &[Started]) -> Option<&'static str> {
    let [allowed, no_programs, no_text] = verdicts;
    for program in started {
        let name = program.name();
        // A program of `PATH` is started by its name or by its path; any other is named as it is.
        let is_part =
            |part: &Part| part.program == program.path || (stubs.is_on_path(&program.path) && part.program == name);
        if !parts.iter().any(is_part) {
            return Some(if allowed {
                "a rule allows a program that is no part"
            } else {
                "it starts a program that is no part"
            });
        }
        let is_named = ALLOWED.contains(&name) || RUN_OTHERS.contains(&name);
        let is_allowed =
            (stubs.is_on_path(&program.path) && is_named) || program.path == format!("{}tool", stubs.elsewhere());
        if allowed && !is_allowed {
            return Some("a rule allows a program that no rule names");
        }
        if no_programs && name == "rm" {
            return Some("it starts a denied program");
        }
        let has = |wanted: &dyn Fn(&str) -> bool| program.arguments.iter().any(|argument| wanted(argument));
        let is_forced = has(&|argument| argument == "--force" || argument == "-f" || argument.starts_with('+'));
        let first = program.arguments.first().map(String::as_str);
        let after_directory = if first == Some("-C") { program.arguments.get(2).map(String::as_str) } else { first };
        if no_programs && name == "git" && after_directory == Some("push") && is_forced {
            return Some("it starts a program with denied arguments");
        }
        if no_text && (name.contains("secret") || has(&|argument| argument.contains("secret"))) {
            return Some("it starts a program with a denied text");
        }
    }
    None
}

#[test]
fn no_shell_starts_a_program_past_the_gate() {
    let shells: Vec<_> = ["bash", "dash"].into_iter().filter_map(|name| Some((name, find_shell(name)?))).collect();
    if shells.len() < 2 {
        let test = thread::current().name().unwrap_or("a test").to_owned();
        let line = format!("SKIPPED {test}: it needs bash and dash, and found {shells:?}\n");
        // What is printed is captured, and what is written to stderr is not.
        io::stderr().write_all(line.as_bytes()).expect("there is a stderr");
        return;
    }
    let counts = Counts::default();
    let total = cases(CASES);
    let faults: Vec<(String, &str, &str)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (shells, counts) = (&shells, &counts);
                scope.spawn(move || play(worker, total, shells, counts))
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("it plays")).collect()
    });
    let Counts { plain, plain_allowed, allowed, run_despite_rules, shells, programs, not_played, timeouts } = &counts;
    let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "{total} commands: {} allowed by rules, {} made in spite of denials, {} not played; {} runs of shells started {} \
         programs, {} timed out; {} of {} plain commands are allowed; {} faults",
        number(allowed),
        number(run_despite_rules),
        number(not_played),
        number(shells),
        number(programs),
        number(timeouts),
        number(plain_allowed),
        number(plain),
        faults.len(),
    );
    let mut kinds = BTreeMap::new();
    for (_, shell, fault) in &faults {
        *kinds.entry((*shell, *fault)).or_insert(0) += 1;
    }
    let first: Vec<_> = faults.iter().take(20).collect();
    assert!(faults.is_empty(), "{kinds:#?}\n{first:#?}");
    assert!(number(plain_allowed) * 10 >= number(plain) * 6, "fewer than 60 % of the plain commands are allowed");
    assert!(number(programs) > total / 2, "the commands start programs");
}

/// Plays the share of a worker; returns the commands with a fault, with the shell.
fn play<'s>(
    worker: u64,
    total: u64,
    shells: &[(&'s str, String)],
    counts: &Counts,
) -> Vec<(String, &'s str, &'static str)> {
    let mut stubs = Stubs::new().expect("a scratch directory");
    let gates = Gates::new(&stubs);
    let mut faults = Vec::new();
    for case in (worker..total).step_by(usize::try_from(WORKERS).expect("few")) {
        let (kind, command) = generate(case, &mut Dice::new(seed(case)));
        let command = stubs.fill_in(&command);
        let arguments = json!({"command": command}).to_string();
        let verdicts = [&gates.allows, &gates.denies_programs, &gates.denies_text].map(|gate| runs(gate, &arguments));
        if kind == Kind::Plain {
            count(&counts.plain);
            if verdicts[0] {
                count(&counts.plain_allowed);
            }
        }
        if verdicts[0] {
            count(&counts.allowed);
        }
        if verdicts[1] || verdicts[2] {
            count(&counts.run_despite_rules);
        }
        if !verdicts.contains(&true) {
            continue;
        }
        let parts = parts(&arguments);
        // A script is a program as any other: the gate does not read it.
        if !stubs.is_within(&command) || parts.iter().any(runs_script) {
            count(&counts.not_played);
            continue;
        }
        for (shell, path) in shells {
            let (started, timed_out) = stubs.run(path, &command).expect("the shell runs");
            count(&counts.shells);
            if timed_out {
                count(&counts.timeouts);
            }
            counts.programs.fetch_add(started.len() as u64, Ordering::Relaxed);
            if let Some(fault) = find_fault(&stubs, verdicts, &parts, &started) {
                faults.push((format!("{command:?} {started:?}"), *shell, fault));
                break;
            }
        }
    }
    faults
}
