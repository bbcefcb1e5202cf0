//! What agents cost on top of Temporal: a worker for benchmarks, a replayer of its histories, and a measurement of both.
//!
//! `bench-peer measure` starts a server, measures, and prints a table. `worker` and `replay` are what it measures; a client in
//! another language can measure them, too, beside workers in its own.
//!
//! It reads CPU clocks of other processes and `/proc`, so it runs on Linux only.

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

/// Workers make and drop many small blocks, which glibc's allocator is slow at. The floors have the same one: the difference is the agents'.
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
