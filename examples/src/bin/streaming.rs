//! A narrator whose story is printed while the model writes it: `cargo run --bin streaming` starts
//! a dev server, a worker and a reader, and ends by itself.
//!
//! Its two sides are commands of their own. `cargo run --bin streaming -- worker --task-queue
//! stories` serves the narrator to clients in any language; `cargo run --bin streaming -- watch
//! --workflow story-1 --json` prints the events of a workflow as they happen.
//!
//! The model is scripted and needs no key. A client starts `AgentWorkflow` with `{"agent":
//! "narrator", "input": "Tell me a story."}`, or `ChatWorkflow` with `{"agent": "narrator"}` and
//! sends it the update `chat_send` with `{"text": "Tell me a story."}`.

use clap::{Parser, Subcommand};
use temporal_agents_examples::streaming::{
    demonstration::demonstrate,
    watch::{self, Format},
    worker::{self, Telling},
};
use temporal_agents_testing::ServerAddress;

/// Prints a story while the model writes it, with a dev server, a worker and a reader of its own.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Keeps the server and its web UI running until Ctrl-C.
    #[arg(long)]
    keep: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the workflows `AgentWorkflow` and `ChatWorkflow` until SIGTERM or Ctrl-C; prints READY once it polls.
    Worker {
        #[command(flatten)]
        server: Server,
        /// The task queue.
        #[arg(long)]
        task_queue: String,
        #[command(flatten)]
        telling: Telling,
    },
    /// Prints the events of a workflow, tokens too, until it has ended.
    Watch {
        #[command(flatten)]
        server: Server,
        /// Id of the workflow.
        #[arg(long)]
        workflow: String,
        /// Continues after the event with this cursor.
        #[arg(long)]
        from: Option<String>,
        /// Prints one JSON object per line, with the members `cursor`, `id` and `kind` of each event.
        #[arg(long)]
        json: bool,
    },
}

/// The Temporal server.
#[derive(clap::Args)]
struct Server {
    /// The server, as HOST:PORT or as a URL; by default `TEMPORAL_ADDRESS`, or else http://localhost:7233.
    #[arg(long)]
    address: Option<ServerAddress>,
    /// The namespace.
    #[arg(long, default_value = "default")]
    namespace: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { keep, command } = Arguments::parse();
    match command {
        None => demonstrate(keep).await,
        Some(Command::Worker { server, task_queue, telling }) => {
            let address = ServerAddress::or_env(server.address)?;
            worker::serve(&address, &server.namespace, &task_queue, &telling).await
        }
        Some(Command::Watch { server, workflow, from, json }) => {
            let address = ServerAddress::or_env(server.address)?;
            let format = if json { Format::Json } else { Format::Text };
            watch::watch(&address, &server.namespace, &workflow, from, format).await
        }
    }
}
