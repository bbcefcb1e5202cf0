//! Reads the clock of the machine, and the CPU time and the memory of processes.

use std::fs;

use anyhow::Context;
use rustix::{
    param::clock_ticks_per_second,
    time::{ClockId, clock_gettime},
};

/// Returns the CPU time of this process so far in milliseconds: user and system time of all its
/// threads, including those that have ended.
#[expect(clippy::cast_precision_loss, reason = "a double has nanoseconds for a hundred days")]
pub(crate) fn own_cpu_ms() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// Returns the time since the machine was started, in nanoseconds, on a clock that all its processes
/// share.
pub(crate) fn monotonic_nanos() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    // The clock begins at zero.
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or_default()
}

/// Returns the CPU time of another process so far, in milliseconds, with a resolution of about 10
/// ms.
#[expect(clippy::cast_precision_loss, reason = "there are a hundred ticks in a second")]
pub(crate) fn cpu_ms_of(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The second field is the program's name in parentheses, which may contain any character.
    let (_, fields) = stat.rsplit_once(')').context("/proc has no name for the process")?;
    // Fields 14 and 15 of the file: user and system time, in clock ticks.
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u32>).sum::<Result<u32, _>>()?;
    Ok(f64::from(ticks) * 1e3 / clock_ticks_per_second() as f64)
}

/// Returns the peak resident memory of a process since its start, or since [`forget_peak`], in KiB.
pub(crate) fn peak_kib(process: &str) -> anyhow::Result<u64> {
    kib_of(process, "VmHWM:")
}

/// Returns the resident memory of a process, in KiB.
pub(crate) fn resident_kib(process: &str) -> anyhow::Result<u64> {
    kib_of(process, "VmRSS:")
}

fn kib_of(process: &str, member: &str) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let value = status.lines().find_map(|line| line.strip_prefix(member));
    let kib = value.and_then(|value| value.trim().strip_suffix("kB"));
    Ok(kib.with_context(|| format!("the process has no {member}"))?.trim().parse()?)
}

/// Resets the peak to the memory that is resident now.
pub(crate) fn forget_peak(pid: u32) -> anyhow::Result<()> {
    Ok(fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}
