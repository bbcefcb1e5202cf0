//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use temporalio_client::GrpcCompression;

use crate::{
    measure::{self, Scale},
    replay, serve,
};

/// What agents cost on top of Temporal.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a dev server, measures agents and floors in turn, and prints a table of medians.
    Measure {
        /// How often everything is measured; medians of fewer than three rounds say little.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Small numbers: shows that it works, and is no result.
        #[arg(long)]
        quick: bool,
    },
    /// Serves the workflows `agent_bench`, `floor_bare` and `floor_conv` until SIGTERM; prints READY once it polls.
    Worker {
        /// The server, as HOST:PORT.
        #[arg(long)]
        address: String,
        /// The task queue.
        #[arg(long)]
        task_queue: String,
        /// Compresses what goes over the wire, as the SDK does unless it is told otherwise. Over loopback it only costs.
        #[arg(long)]
        gzip: bool,
    },
    /// Replays a history, and prints one line of JSON: how long that took, in wall and CPU time.
    Replay {
        /// The history; what is read is the file of this name that ends in `.bin`, a `temporal.api.history.v1.History`.
        #[arg(long)]
        history: PathBuf,
        /// How many replays are measured.
        #[arg(long)]
        n: usize,
        /// How many go before them.
        #[arg(long, default_value_t = 3)]
        warmup: usize,
    },
}

pub(crate) fn run() -> anyhow::Result<()> {
    let command = Arguments::parse().command;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        match command {
            Command::Measure { rounds, quick } => {
                let scale = if quick { Scale::QUICK } else { Scale::FULL };
                measure::run(rounds, &scale).await
            }
            Command::Worker { address, task_queue, gzip } => {
                let compression = if gzip { GrpcCompression::Gzip } else { GrpcCompression::None };
                serve::serve(&address, &task_queue, compression).await
            }
            Command::Replay { history, n, warmup } => replay::replay(&history, n, warmup).await,
        }
    })
}
