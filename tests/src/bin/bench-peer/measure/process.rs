//! A process of this program, which is measured from outside.

use std::{
    env,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    clock::{cpu_ms_of, forget_peak, peak_kib, resident_kib},
    serve::READY,
};

/// A running process, which is stopped when the value is dropped.
pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Starts this program with these arguments, waits until it is ready, and returns what it
    /// prints behind READY.
    pub(super) fn start(arguments: &[&str]) -> anyhow::Result<(Self, String)> {
        let mut child = Command::new(env::current_exe()?)
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .context("the process cannot be started")?;
        let output = child.stdout.take().context("the process has no output")?;
        let process = Self { child };
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        let ready = first.trim().strip_prefix(READY).context("the process ended before it was ready")?;
        Ok((process, ready.trim().to_owned()))
    }

    /// Returns the CPU time that the process has used, in milliseconds.
    pub(super) fn cpu_ms(&self) -> anyhow::Result<f64> {
        cpu_ms_of(self.child.id())
    }

    /// Resets the peak to the memory that is resident now.
    pub(super) fn forget_peak(&self) -> anyhow::Result<()> {
        forget_peak(self.child.id())
    }

    /// Returns the peak resident memory since the start, or since
    /// [`forget_peak`](Self::forget_peak), in MiB.
    pub(super) fn peak_mib(&self) -> anyhow::Result<f64> {
        let kib = u32::try_from(peak_kib(&self.child.id().to_string())?)?;
        Ok(f64::from(kib) / 1024.0)
    }

    /// Returns the memory that is resident now, in kB (1,000 bytes).
    pub(super) fn resident_kb(&self) -> anyhow::Result<f64> {
        let kib = u32::try_from(resident_kib(&self.child.id().to_string())?)?;
        Ok(f64::from(kib) * 1.024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The call fails only if the process has already ended, which is the intended result.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
