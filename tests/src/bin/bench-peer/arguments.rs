//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use temporal_agents_tests::bench::worker::Memory;
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
        /// How many bytes of conversations it remembers.
        #[arg(long)]
        conversation_bytes: Option<usize>,
        /// How many workflows it keeps in memory.
        #[arg(long)]
        cached_workflows: Option<usize>,
    },
    /// Runs thousands of turns that continue as new, and prints what they took.
    Endless {
        /// Turns whose results have 500 bytes; a fifth as many are made with results of 20 kB, and trimmed.
        #[arg(long, default_value_t = 5_000)]
        turns: u32,
    },
    /// Measures what it costs to remember nothing, and to change workers, and prints a table.
    Prices {
        /// Turns of one run.
        #[arg(long, default_value_t = 200)]
        turns: u32,
        /// How often everything is measured.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Measures 1,000 calls of a tool in one response, 200 results of 200 kB, and one of 5 MB, and prints a table.
    Tools {
        /// How often everything is measured.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Replays a history on one CPU, and prints one line of JSON: how long that took, in wall and CPU time.
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
    if let Command::Replay { .. } = command {
        replay::keep_to_one_cpu()?;
    }
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        match command {
            Command::Measure { rounds, quick } => {
                let scale = if quick { Scale::QUICK } else { Scale::FULL };
                measure::run(rounds, &scale).await
            }
            Command::Worker { address, task_queue, gzip, conversation_bytes, cached_workflows } => {
                let compression = if gzip { GrpcCompression::Gzip } else { GrpcCompression::None };
                let memory = Memory { conversation_bytes, cached_workflows };
                serve::serve(&address, &task_queue, compression, memory).await
            }
            Command::Endless { turns } => measure::endless(turns).await,
            Command::Prices { turns, rounds } => measure::prices(turns, rounds).await,
            Command::Tools { rounds } => measure::tools(rounds).await,
            Command::Replay { history, n, warmup } => replay::replay(&history, n, warmup).await,
        }
    })
}
