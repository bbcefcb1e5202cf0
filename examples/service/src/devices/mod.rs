//! Devices of people: a gateway that holds their WebSockets, a device, and a worker that reaches it
//! over Redis.

mod device;
mod gateway;
mod show;
mod worker;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use worker::{assistant, request};

/// Tools on somebody's machine, in a durable run on a Temporal dev server.
///
/// Without a command it starts everything: Redis, a dev server, and the other commands as
/// processes; then it approves what the run wants to write.
#[derive(Debug, Parser)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Holds the connections of devices. Prints `READY ws://127.0.0.1:PORT/devices`.
    Gateway(Gateway),
    /// Offers the tools `list_files` and `write_file` in one directory. Prints `READY`.
    Device(Device),
    /// Runs the agent. It holds no connections of devices. Prints `READY`.
    Worker(Worker),
}

#[derive(Debug, clap::Args)]
struct Gateway {
    /// Address of the Redis server, as in `redis://127.0.0.1:6379`.
    #[arg(long)]
    redis: String,
    /// Port; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A user and the token that their devices send, as in `ada=secret`.
    #[arg(long = "user", required = true)]
    users: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct Device {
    /// Address of the gateway, as it prints it.
    #[arg(long)]
    gateway: String,
    /// Token of the user to whom the device belongs.
    #[arg(long, env = "DEVICE_TOKEN", hide_env_values = true)]
    token: String,
    /// Name of the device; each of a user's devices has another one.
    #[arg(long, default_value = "laptop")]
    name: String,
    /// The directory that the tools reach.
    #[arg(long)]
    directory: PathBuf,
}

#[derive(Debug, clap::Args)]
struct Worker {
    /// Address of the Redis server.
    #[arg(long)]
    redis: String,
    /// Address of the Temporal server, as HOST:PORT.
    #[arg(long)]
    address: String,
    /// Namespace of the Temporal server.
    #[arg(long, default_value = "default")]
    namespace: String,
    /// Task queue of the worker.
    #[arg(long, default_value = "devices")]
    task_queue: String,
}

/// Runs the program.
///
/// # Errors
/// A server cannot be reached or started, or the arguments are wrong.
pub async fn main(arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command {
        None => show::show().await,
        Some(Command::Gateway(arguments)) => gateway::serve(arguments).await,
        Some(Command::Device(arguments)) => device::serve(arguments).await,
        Some(Command::Worker(arguments)) => worker::serve(arguments).await,
    }
}
