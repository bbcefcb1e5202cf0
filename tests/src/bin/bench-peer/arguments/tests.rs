//! Tests of the address that the worker takes.

use clap::Parser;

use super::{Arguments, Command};

fn parsed(address: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(["bench-peer", "worker", "--address", address, "--task-queue", "bench"])
}

#[test]
fn the_worker_accepts_an_address_in_both_forms() {
    for given in ["127.0.0.1:7233", "http://127.0.0.1:7233"] {
        match parsed(given).map(|arguments| arguments.command) {
            Ok(Command::Worker { address, .. }) => assert_eq!(address.url().as_str(), "http://127.0.0.1:7233/"),
            _ => panic!("{given:?} is refused"),
        }
    }
    for given in ["", "localhost"] {
        let Err(error) = parsed(given) else { panic!("{given:?} is accepted") };
        let error = error.to_string();
        for part in ["--address", &format!("{given:?}"), "HOST:PORT", "http://localhost:7233"] {
            assert!(error.contains(part), "{part:?} is missing in {error}");
        }
    }
}
