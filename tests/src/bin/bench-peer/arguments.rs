//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, Subcommand};
use temporal_agents_testing::ServerAddress;
use temporal_agents_tests::bench::{
    Streamed, Transport,
    worker::{Memory, Settings},
};
use temporalio_client::GrpcCompression;

use crate::{
    api,
    clock::monotonic_nanos,
    measure::{self, Load, Over, Scale},
    replay, serve,
};

/// Measures the cost of agents on top of Temporal.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a dev server, measures agents and floors in turn, and prints a table of medians.
    Measure {
        /// Number of rounds; medians of fewer than three rounds are not meaningful.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Uses small numbers: shows that the measurement works, and is not a result.
        #[arg(long)]
        quick: bool,
    },
    /// Serves all workflows of the benchmarks until SIGTERM; prints READY once it polls.
    Worker {
        /// Address of the server, as HOST:PORT or as a URL.
        #[arg(long)]
        address: ServerAddress,
        /// Name of the task queue.
        #[arg(long)]
        task_queue: String,
        /// Compresses the connection to the server, as the SDK does by default. Over loopback,
        /// compression only adds cost.
        #[arg(long)]
        gzip: bool,
        /// Size of the conversation cache, in bytes.
        #[arg(long)]
        conversation_bytes: Option<usize>,
        /// Number of workflows kept in memory.
        #[arg(long)]
        cached_workflows: Option<usize>,
        /// Pause before each answer of the model, in milliseconds.
        #[arg(long, default_value_t = 0)]
        model_pause_ms: u64,
        /// Transport of the deltas of models.
        #[arg(long, value_enum, default_value_t = Transport::Off)]
        deltas: Transport,
        /// URL of a collector that receives the traces of its runs; with it, they are also counted.
        #[arg(long)]
        collector: Option<String>,
    },
    /// Measures the CPU of a worker with traces and metrics, beside one without, in turn, and prints
    /// the ratio of each round.
    Observed {
        /// Number of rounds.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Uses small numbers: shows that the measurement works, and is not a result.
        #[arg(long)]
        quick: bool,
    },
    /// Runs thousands of turns that continue as new, and prints a table of their time, CPU, memory
    /// and history sizes.
    Endless {
        /// Number of turns with results of 500 bytes; a fifth as many turns run with results of 20
        /// kB and a trimmed conversation.
        #[arg(long, default_value_t = 5_000)]
        turns: u32,
    },
    /// Measures the cost of disabled caches and of alternating workers, and prints a table.
    Prices {
        /// Number of turns of one run.
        #[arg(long, default_value_t = 200)]
        turns: u32,
        /// Number of rounds.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Measures 1,000 calls of a tool in one response, 200 results of 200 kB, and one of 5 MB, and prints a table.
    Tools {
        /// Number of rounds.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
    },
    /// Measures calls of a provider's tool over Redis, 40 in flight, beside activities on a task queue, and prints a
    /// table.
    Remote {
        /// Number of calls in one run.
        #[arg(long, default_value_t = 1_000)]
        calls: usize,
        /// Number of rounds.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Measures this one once, in this process.
        #[arg(long, value_enum, hide = true)]
        over: Option<Over>,
    },
    /// Measures the memory of a worker with workflows that wait, and prints it per workflow: chats
    /// that have answered, chats that wait for an approval, and two kinds without agents.
    Parked {
        /// Number of workflows of each kind.
        #[arg(long, default_value_t = 2_000)]
        chats: u32,
        /// Number of workflows that the worker's cache holds; the default is that of the SDK. The
        /// others are in their histories alone. With as many as there are chats, and some more, the
        /// figures are those of a cached workflow.
        #[arg(long, default_value_t = 1_000)]
        cached_workflows: u32,
        /// Number of rounds.
        #[arg(long, default_value_t = 1)]
        rounds: u32,
    },
    /// Measures readers of events: the history that they cost, their latency, the price of a question
    /// and of a verdict, and the time to catch up; prints tables.
    Watch {
        /// Number of rounds.
        #[arg(long, default_value_t = 3)]
        rounds: u32,
        /// Uses small numbers: shows that the measurement works, and is not a result.
        #[arg(long)]
        quick: bool,
    },
    /// Measures streamed answers: the history and the CPU that they cost, the time from a chunk to its
    /// readers, and the time to the first token; prints tables.
    Stream {
        /// Number of rounds.
        #[arg(long, default_value_t = 5)]
        rounds: u32,
        /// Uses small numbers: shows that the measurement works, and is not a result.
        #[arg(long)]
        quick: bool,
    },
    /// Measures the service over HTTP: many runs that stream, each with several readers of its
    /// server-sent events; memory and CPU of a reader, and the time from a chunk to it.
    Serve {
        /// Number of runs at the same time.
        #[arg(long, default_value_t = 100)]
        runs: u32,
        /// Number of readers of each run.
        #[arg(long, default_value_t = 5)]
        readers: u32,
        /// Number of chunks of each answer.
        #[arg(long, default_value_t = 200)]
        chunks: u32,
        /// Pause between two chunks, in milliseconds.
        #[arg(long, default_value_t = 100)]
        pause_ms: u64,
        /// Time for all readers to connect, before the first chunks, in milliseconds.
        #[arg(long, default_value_t = 10_000)]
        first_pause_ms: u64,
    },
    /// Serves the API of runs over HTTP for one agent until SIGTERM; prints READY and its address.
    Api {
        /// Address of the server, as HOST:PORT or as a URL.
        #[arg(long)]
        address: ServerAddress,
        /// Name of the task queue.
        #[arg(long)]
        task_queue: String,
    },
    /// Replays a history on one CPU, and prints one line of JSON with the wall time, the CPU time
    /// and the peak memory.
    Replay {
        /// Path of the history; reads the file of this name with the extension `.bin`, a
        /// `temporal.api.history.v1.History`.
        #[arg(long)]
        history: PathBuf,
        /// Number of measured replays.
        #[arg(long)]
        n: usize,
        /// Number of replays before the measured ones.
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
            Command::Worker {
                address,
                task_queue,
                gzip,
                conversation_bytes,
                cached_workflows,
                model_pause_ms,
                deltas,
                collector,
            } => {
                let compression = if gzip { GrpcCompression::Gzip } else { GrpcCompression::None };
                let settings = Settings {
                    memory: Memory { conversation_bytes, cached_workflows },
                    model_pause: Duration::from_millis(model_pause_ms),
                    deltas,
                    clock: monotonic_nanos,
                };
                serve::serve(&address, &task_queue, compression, settings, collector.as_deref()).await
            }
            Command::Observed { rounds, quick } => {
                measure::observed(rounds, if quick { &Scale::QUICK } else { &Scale::FULL }).await
            }
            Command::Endless { turns } => measure::endless(turns).await,
            Command::Prices { turns, rounds } => measure::prices(turns, rounds).await,
            Command::Tools { rounds } => measure::tools(rounds).await,
            Command::Remote { calls, over: Some(over), .. } => Box::pin(measure::remote_once(over, calls)).await,
            Command::Remote { calls, rounds, over: None } => measure::remote(rounds, calls).await,
            Command::Parked { chats, cached_workflows, rounds } => {
                measure::parked(chats, cached_workflows, rounds).await
            }
            Command::Watch { rounds, quick } => measure::watch(rounds, quick).await,
            Command::Stream { rounds, quick } => measure::stream(rounds, quick).await,
            Command::Serve { runs, readers, chunks, pause_ms, first_pause_ms } => {
                measure::service(Load { runs, readers, work: Streamed { first_pause_ms, chunks, pause_ms } }).await
            }
            Command::Api { address, task_queue } => api::api(&address, &task_queue).await,
            Command::Replay { history, n, warmup } => replay::replay(&history, n, warmup).await,
        }
    })
}

#[cfg(test)]
mod tests;
