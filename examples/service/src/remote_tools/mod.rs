//! Remote tools over Redis: a provider, and a durable run that calls it.

mod run;
mod serve;
mod show;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Tools of a provider behind Redis, in a durable run on a Temporal dev server.
///
/// Without a command it starts a Redis server, a provider and a run that calls its tools.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Calls a tool of a provider that runs elsewhere, in a durable run on a dev server of its own.
    Run(Run),
    /// Offers the tools `echo`, `slow` and `fail`, until Ctrl-C or SIGTERM.
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
struct Run {
    /// Address of the Redis server, as in `redis://127.0.0.1:6379`.
    #[arg(long)]
    redis: String,
    /// Name of the toolset, which names its request stream: `toolset:<name>:requests`.
    #[arg(long)]
    toolset: String,
    /// File with the tools: a JSON list of `{"name", "description", "payload_schema"}`.
    #[arg(long)]
    schema: PathBuf,
    /// Name of the tool to call.
    #[arg(long)]
    call: String,
    /// Arguments of the call, a JSON object.
    #[arg(long)]
    args: String,
    /// Longest time to wait for the result, in seconds.
    #[arg(long, default_value_t = 600)]
    timeout: u64,
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// Address of the Redis server, as in `redis://127.0.0.1:6379`.
    #[arg(long)]
    redis: String,
    /// Name of the toolset.
    #[arg(long, default_value = "demo")]
    toolset: String,
}

/// Runs the program.
///
/// # Errors
/// A server cannot be started, or the arguments are wrong. A tool that fails is not an error.
pub async fn main(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        None => Box::pin(show::show()).await,
        Some(Command::Run(run)) => Box::pin(run::run(run)).await,
        Some(Command::Serve(Serve { redis, toolset })) => serve::until_stopped(&redis, &toolset).await,
    }
}
