//! Ends the server when the test process is killed, where no `Drop` runs.
//!
//! On Unix a shell waits on a pipe that only the test process holds open. The kernel closes the pipe when that process
//! ends in whatever way, and the shell then kills the server by its id. It needs no unsafe code, as `prctl` would, and
//! works on every Unix.
//!
//! What it does not cover: a shell that is killed together with the test process by the same signal to the whole
//! process group (the server is in that group too, and gets the signal as well), and systems other than Unix, where a
//! killed test process leaves its server behind. The server's temporary directory, with a log of few lines, stays.

use std::{
    io,
    process::{Child, Command, Stdio},
};

/// Waits for the end of the pipe, then kills the process whose id is the first argument.
const SCRIPT: &str = r#"while read -r _; do :; done; kill -9 "$1" 2>/dev/null"#;

/// The waiting shell. Dropping it calls the guard off.
#[derive(Debug)]
pub(super) struct OrphanGuard(Child);

impl OrphanGuard {
    /// Sets a guard for the server with this process id; `None` where there is no shell to do it.
    pub(super) fn watch_over(server: u32) -> io::Result<Option<Self>> {
        if cfg!(not(unix)) {
            return Ok(None);
        }
        Command::new("/bin/sh")
            .args(["-c", SCRIPT, "temporal-agents-orphan-guard", &server.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(|shell| Some(Self(shell)))
    }
}

impl Drop for OrphanGuard {
    fn drop(&mut self) {
        // Killed before `wait` closes the pipe, so it never acts on an id that may have gone to another process.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
