//! Stops a server when the test process is killed, in which case no `Drop` runs.
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

/// Waits for the end of the pipe, then sends the signal that is the first argument to the process
/// whose id is the second one.
const SCRIPT: &str = r#"while read -r _; do :; done; kill -s "$1" "$2" 2>/dev/null"#;

/// The signals that end a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndSignal {
    Kill,
    /// For servers that clean up behind them.
    Quit,
}

/// The waiting shell. Dropping it disables the guard.
#[derive(Debug)]
pub(crate) struct OrphanGuard(Child);

impl OrphanGuard {
    /// Starts a guard for the server with this process id; `None` on systems without a shell.
    pub(crate) fn watch_over(server: u32, signal: EndSignal) -> io::Result<Option<Self>> {
        if cfg!(not(unix)) {
            return Ok(None);
        }
        let signal = match signal {
            EndSignal::Kill => "KILL",
            EndSignal::Quit => "QUIT",
        };
        Command::new("/bin/sh")
            .args(["-c", SCRIPT, "temporal-agents-orphan-guard", signal, &server.to_string()])
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
