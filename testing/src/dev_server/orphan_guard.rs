//! Stops the server when the test process is killed, in which case no `Drop` runs.
//!
//! On Unix a shell waits on a pipe that only the test process holds open. The kernel closes the
//! pipe when that process ends for any reason, and the shell then kills the server by its id. This
//! needs no unsafe code, unlike `prctl`, and works on every Unix.
//!
//! Not covered: a shell that is killed together with the test process by the same signal to the
//! whole process group (the server is also in that group, and also receives the signal), and
//! systems other than Unix, where a killed test process leaves its server running. The server's
//! temporary directory, with a log of a few lines, is not removed.

use std::{
    io,
    process::{Child, Command, Stdio},
};

/// Waits for the end of the pipe, then kills the process whose id is the first argument.
const SCRIPT: &str = r#"while read -r _; do :; done; kill -9 "$1" 2>/dev/null"#;

/// The waiting shell. Dropping it disables the guard.
#[derive(Debug)]
pub(super) struct OrphanGuard(Child);

impl OrphanGuard {
    /// Starts a guard for the server with this process id; `None` on systems without a shell.
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
        // Killed before `wait` closes the pipe, so the shell never kills a process to which the id
        // was reassigned.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
