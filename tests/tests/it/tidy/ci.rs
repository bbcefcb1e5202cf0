//! The tests that `.ci/run` runs are those that the README tells users to run.

use std::path::Path;

use super::read;

fn has_line(file: &str, wanted: &str) -> bool {
    read("", Path::new(file)).lines().any(|line| line == wanted)
}

#[test]
fn ci_runs_the_test_command_of_the_readme() {
    assert!(has_line("README.md", "cargo test --workspace"));
    assert!(has_line(".ci/test", r#"cargo test --workspace "$@" 2>&1 | tee "$log" || status=$?"#));
    assert!(has_line(".ci/run", "step .ci/test"));
}
