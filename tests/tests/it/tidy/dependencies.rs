//! What the workflow half pulls in.

use std::process::Command;

use super::workspace;

/// Crates that do I/O, or bring what does.
const WORKER_ONLY: [&str; 11] = [
    "httpdate",
    "hyper",
    "mio",
    "openssl-sys",
    "reqwest",
    "ring",
    "rustls",
    "socket2",
    "temporalio-client",
    "temporalio-sdk",
    "temporalio-sdk-core",
];

/// Crates of single features, by the feature that brings them.
const OF_FEATURES: [(&str, &[&str]); 3] =
    [("http", &["axum"]), ("postgres", &["sqlx", "sqlx-postgres"]), ("sqlite", &["libsqlite3-sys", "sqlx"])];

/// The names of the crates that `temporal-agents` is built with.
fn crates(features: &[&str]) -> Vec<String> {
    crates_of("temporal-agents", features)
}

fn crates_of(package: &str, features: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}"])
        .args(["--locked", "--offline", "--manifest-path"])
        .arg(workspace().join("Cargo.toml"))
        .args(features)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).expect("crate names are UTF-8");
    tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

fn worker_only(crates: &[String]) -> Vec<&str> {
    WORKER_ONLY.into_iter().filter(|name| crates.iter().any(|known| known == name)).collect()
}

#[test]
fn core_has_neither_temporal_nor_io() {
    let crates = crates_of("temporal-agents-core", &["--all-features"]);
    assert!(crates.iter().any(|name| name == "schemars"), "{crates:?}");
    let unwanted = |name: &&String| {
        WORKER_ONLY.contains(&name.as_str())
            || name.starts_with("temporalio")
            || ["prost", "tokio"].contains(&name.as_str())
    };
    assert_eq!(crates.iter().filter(unwanted).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn the_workflow_half_does_without_any_crate_that_does_io() {
    let crates = crates(&["--no-default-features"]);
    assert!(crates.iter().any(|name| name == "temporalio-workflow"), "{crates:?}");
    assert_eq!(worker_only(&crates), [""; 0]);
}

#[test]
fn macros_add_no_crate_that_does_io() {
    assert_eq!(worker_only(&crates(&["--no-default-features", "--features", "macros"])), [""; 0]);
}

#[test]
fn nexus_operations_add_no_crate_that_does_io() {
    assert_eq!(worker_only(&crates(&["--no-default-features", "--features", "nexus"])), [""; 0]);
}

#[test]
fn the_worker_half_has_the_crates_whose_absence_is_checked() {
    let has = crates(&[]);
    let found = worker_only(&has);
    for name in ["hyper", "mio", "reqwest", "rustls", "socket2", "temporalio-sdk"] {
        assert!(found.contains(&name), "{name} is not in the tree under this name any more");
    }
}

#[test]
fn the_defaults_do_without_the_crates_of_service_features() {
    let defaults = crates(&[]);
    for (feature, of_feature) in OF_FEATURES {
        let with_it = crates(&["--features", feature]);
        for name in of_feature {
            assert!(!defaults.iter().any(|known| known == name), "{name} is in the tree without `{feature}`");
            assert!(with_it.iter().any(|known| known == name), "{name} is not in the tree of `{feature}` any more");
        }
    }
}

#[test]
fn a_database_brings_no_driver_of_another() {
    assert!(!crates(&["--features", "postgres"]).iter().any(|name| name == "libsqlite3-sys"));
    assert!(!crates(&["--features", "sqlite"]).iter().any(|name| name == "sqlx-postgres"));
}
