//! The process that takes an attack: this test binary, started again with one test and the name of a case.

use std::{
    fs,
    io::Read,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::Context;
use temporal_agents_testing::skip_entry_point;

use super::{forged, mcp, payloads, providers, schemas, secrets, traced};

/// A victim's half of a case: what came of it, in a line. An error says that the attack has succeeded.
type Case = fn(attacker: &str) -> anyhow::Result<String>;

const CASES: &[(&str, Case)] = &[
    ("forged state", forged::a_worker),
    ("17 doublings", schemas::doublings),
    ("50,000 references", schemas::references),
    ("16 nested unions", schemas::unions),
    ("127 levels of 500 references", schemas::levels),
    ("headers only, inline", providers::headers_only_inline),
    ("headers only, in a session", providers::headers_only_in_a_session),
    ("a body of 1 GB", providers::large_body),
    ("a body that becomes 1 GB", providers::large_body),
    ("an endless stream", providers::endless_stream),
    ("an endless stream of items", providers::endless_items),
    ("an endless stream through genai", providers::endless_stream_through_genai),
    ("32 zstd bombs", payloads::bombs),
    ("a list without end", mcp::endless_list),
    ("a quoted key", secrets::quoted_key),
    ("a traced key", traced::traced_key),
];

const ENTRY: &str = "hostile::victim::a_victim_acts_only_where_a_test_has_started_it";
const CASE: &str = "AGENTS_HOSTILE_CASE";
const ATTACKER: &str = "AGENTS_HOSTILE_ATTACKER";
const OUTCOME: &str = "HOSTILE OUTCOME ";
const PEAK: &str = "HOSTILE PEAK ";

/// Most memory that a victim may ever have had resident, the code of this binary included.
const MOST_KIB: u64 = 200 * 1024;
/// Most addresses that a victim may have, in KiB: what it asks for beyond them it does not get.
const MOST_ADDRESSES_KIB: u64 = 4 * 1024 * 1024;
/// A victim that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);
/// How often a victim is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

#[test]
fn a_victim_acts_only_where_a_test_has_started_it() -> anyhow::Result<()> {
    let Ok(name) = std::env::var(CASE) else {
        skip_entry_point();
        return Ok(());
    };
    let (_, case) = CASES.iter().find(|(known, _)| *known == name).with_context(|| format!("no case {name:?}"))?;
    let outcome = case(&std::env::var(ATTACKER)?)?;
    println!("\n{OUTCOME}{outcome:?}\n{PEAK}{}", peak_kib("self").unwrap_or_default());
    Ok(())
}

/// Runs the victim of a case, which must end well, and within the bound.
pub(super) fn attack(case: &str, attacker: &str) -> anyhow::Result<()> {
    attack_with(case, attacker, [])
}

/// Runs the victim of a case with these variables in its environment.
pub(super) fn attack_with<const N: usize>(
    case: &str,
    attacker: &str,
    variables: [(&str, &str); N],
) -> anyhow::Result<()> {
    let mut program = program()?;
    program.args([ENTRY, "--exact", "--nocapture"]).env(CASE, case).env(ATTACKER, attacker).envs(variables);
    // Making a backtrace readable takes more memory than the bound.
    program.env("RUST_BACKTRACE", "0").env("RUST_LIB_BACKTRACE", "0");
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take().context("it is piped")?;
    let reader = std::thread::spawn(move || {
        let mut told = Vec::new();
        stdout.read_to_end(&mut told).map(|_| String::from_utf8_lossy(&told).into_owned())
    });
    let (ended, seen) = wait(&mut child)?;
    let told = reader.join().expect("reading does not panic")?;
    let line = |prefix: &str| told.lines().find_map(|line| line.strip_prefix(prefix));
    let peak = line(PEAK).and_then(|peak| peak.parse::<u64>().ok()).unwrap_or_default().max(seen);
    let outcome = line(OUTCOME).unwrap_or("none");
    println!("{case}: {} MB at most; outcome: {outcome}", peak / 1024);
    anyhow::ensure!(
        ended.is_some(),
        "{case}: the victim hangs after {PATIENCE:?}, at {} MB; {}",
        peak / 1024,
        tail(&told)
    );
    let succeeded = ended.is_some_and(|status| status.success());
    anyhow::ensure!(succeeded, "{case}: the victim ended with {ended:?}, at {} MB; {}", peak / 1024, tail(&told));
    anyhow::ensure!(outcome != "none", "{case}: the victim did nothing; {}", tail(&told));
    anyhow::ensure!(peak <= MOST_KIB, "{case}: {} MB were in memory, {} at most may be", peak / 1024, MOST_KIB / 1024);
    Ok(())
}

/// This binary, under a limit of its addresses where there is a shell that can set one.
fn program() -> anyhow::Result<Command> {
    let binary = std::env::current_exe()?;
    if !cfg!(target_os = "linux") {
        return Ok(Command::new(binary));
    }
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("ulimit -v {MOST_ADDRESSES_KIB}; exec \"$0\" \"$@\" 2>&1")).arg(binary);
    Ok(shell)
}

/// How the victim ended, none when it had to be killed, and the most memory that it was seen with.
fn wait(child: &mut Child) -> anyhow::Result<(Option<std::process::ExitStatus>, u64)> {
    let (begun, mut peak) = (Instant::now(), 0);
    loop {
        peak = peak.max(peak_kib(&child.id().to_string()).unwrap_or_default());
        if let Some(status) = child.try_wait()? {
            return Ok((Some(status), peak));
        }
        if begun.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok((None, peak));
        }
        std::thread::sleep(INTERVAL);
    }
}

/// The most memory that a process has had resident (`VmHWM`); none where the system does not say so.
fn peak_kib(process: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The end of what a victim has printed.
fn tail(told: &str) -> String {
    let lines: Vec<&str> = told.lines().collect();
    let last = lines[lines.len().saturating_sub(30)..].join("\n");
    let cut = last.char_indices().rev().nth(4000).map_or(0, |(at, _)| at);
    format!("it printed:\n{}", &last[cut..])
}
