//! Tests that skip themselves: libtest cannot say so, and counts them as passed.

use std::{
    io::{Write, stderr},
    thread,
};

/// Prints `SKIPPED <test>: <reason>` for the test that calls it, which then returns.
///
/// libtest captures what `eprintln!` prints, but not what is written to stderr. `.ci/test` counts
/// these lines.
pub fn skip(reason: &str) {
    let thread = thread::current();
    let test = thread.name().unwrap_or("a test");
    // One write, so that the line stays whole when other threads write.
    let line = format!("SKIPPED {test}: {reason}\n");
    // Without stderr there is nobody to tell.
    let _ = stderr().write_all(line.as_bytes());
}

/// Prints that the test is the entry point of a child process, which no test has started.
pub fn skip_entry_point() {
    skip("it is the entry point of a child process");
}
