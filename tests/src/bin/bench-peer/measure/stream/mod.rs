//! Measures streamed answers, in interleaved rounds on servers whose poll limits are lifted.
//!
//! | file | content |
//! |---|---|
//! | `price.rs` | the history and the CPU that each transport of deltas costs |
//! | `latency.rs` | the time from a chunk of the model to its readers |
//! | `first_token.rs` | the time from the start of a run to its first text |
//! | `python.rs` | that time with Temporal's Python plugin |
//! | `run.rs` | a run, and a reader of its deltas |
//!
//! The readers are in this process, the models in those of the workers, one for each transport.

mod first_token;
mod latency;
mod price;
mod python;
mod run;

use clap::ValueEnum;
use temporal_agents_tests::bench::Transport;

use self::{python::Python, run::Workers};
use super::{Column, Scale, Server, figures, history_size, small, worker_process::WorkerProcess};

/// The amount of work measured.
struct Amounts {
    /// Number of chunks of an answer whose price or latency is measured, 40 for each second.
    chunks: u32,
    /// Number of runs whose first token is measured, for each transport and pause.
    first_tokens: usize,
    runs: Scale,
}

const FULL: Amounts = Amounts { chunks: 200, first_tokens: 10, runs: Scale::FULL };
const QUICK: Amounts = Amounts { chunks: 60, first_tokens: 3, runs: Scale::QUICK };

/// Measures `rounds` rounds, and prints the tables.
pub(crate) async fn stream(rounds: u32, quick: bool) -> anyhow::Result<()> {
    let amounts = if quick { QUICK } else { FULL };
    let packages = python::install().await;
    let (mut prices, mut latencies, mut first_tokens, mut tools) = Default::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        let server = Server::start().await?;
        let workers = Workers::open(&server).await?;
        price::measure(&workers, amounts.chunks, &mut prices).await?;
        latency::measure(&workers, amounts.chunks, &mut latencies).await?;
        let mut python = Python::start(&packages, server.address()).await?;
        first_token::measure(&workers, python.as_mut(), amounts.first_tokens, &mut first_tokens).await?;
        drop((workers, python));
        tools_with_deltas_off(&server, &amounts.runs, &mut tools).await?;
        server.end().await;
    }
    price::print(&prices);
    latency::print(&latencies);
    first_token::print(&first_tokens, packages.as_ref().err());
    println!("Worker CPU of W2 without a transport, many runs at a time: {:.2} ms/run.\n", figures::median(tools));
    println!("Medians of {rounds} rounds{}.", if quick { ", quick: not a result" } else { "" });
    Ok(())
}

/// Adds the worker's CPU of a run of W2, in milliseconds, as `bench-peer measure` measures it.
async fn tools_with_deltas_off(server: &Server, scale: &Scale, measured: &mut Vec<f64>) -> anyhow::Result<()> {
    let (queue, spec) = small::TOOLS;
    let worker = WorkerProcess::start_with(server.address(), queue, &["--deltas", &Transport::Off.name()]).await?;
    let small = small::measure_one(server, &worker, Column::Agents, (queue, spec), scale).await?;
    measured.push(small.worker_cpu);
    Ok(())
}

/// Returns the transports whose deltas reach another process.
fn crossing() -> impl Iterator<Item = Transport> {
    Transport::value_variants().iter().copied().filter(|transport| transport.crosses_processes())
}
