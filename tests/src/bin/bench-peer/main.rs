//! Benchmarks of the cost of agents on top of Temporal: a worker, a replayer of its histories, and
//! a measurement of both.
//!
//! `bench-peer measure` starts a server, measures, and prints a table. It measures `worker` and
//! `replay`; a client in another language can also measure them, beside workers in its own
//! language.
//!
//! This program reads CPU clocks of other processes and `/proc`, so it runs on Linux only.

#[cfg(target_os = "linux")]
mod api;
#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod measure;
#[cfg(target_os = "linux")]
mod replay;
#[cfg(target_os = "linux")]
mod serve;

/// Workers allocate and free many small blocks, for which glibc's allocator is slow. The floors use
/// the same allocator, so the difference in cost is that of the agents.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    arguments::run()
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("bench-peer reads CPU clocks of other processes and /proc, so it runs on Linux only")
}
