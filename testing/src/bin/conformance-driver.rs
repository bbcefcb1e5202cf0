//! Plays a folder of conformance scenarios and prints the observations, one JSON line per scenario.
//!
//! `conformance-driver --host inline|workflow|workflow-uncached|workflow-batched|session|
//! session-interrupted DIR`;
//! see `tests/conformance/README.md`.

use std::{
    io::{Write, stdout},
    path::PathBuf,
    process::ExitCode,
};

use temporal_agents_testing::conformance::{self, Host, Observed};

const USAGE: &str = "usage: conformance-driver \
                     [--host inline|workflow|workflow-uncached|workflow-batched|session|session-interrupted] DIR";

#[tokio::main]
async fn main() -> ExitCode {
    let (host, folder) = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match conformance::run(&folder, host, print).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the host (inline by default) and the folder.
fn arguments(mut given: impl Iterator<Item = String>) -> Result<(Host, PathBuf), String> {
    let mut host = Host::Inline;
    let mut folder = None;
    while let Some(argument) = given.next() {
        if argument == "--host" {
            let name = given.next().ok_or("--host needs a name")?;
            host = name.parse().map_err(|error: conformance::UnknownHost| error.to_string())?;
        } else if folder.replace(PathBuf::from(argument)).is_some() {
            return Err("unexpected second folder".to_owned());
        }
    }
    Ok((host, folder.ok_or("missing argument: folder")?))
}

fn print(observed: Observed) {
    match serde_json::to_string(&observed) {
        // A reader that has closed the pipe needs no more lines.
        Ok(line) => drop(writeln!(stdout(), "{line}")),
        Err(error) => eprintln!("{}: {error}", observed.name),
    }
}
