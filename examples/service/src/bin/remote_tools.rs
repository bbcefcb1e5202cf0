//! Tools of a provider behind Redis, in a durable run: `cargo run --bin remote_tools`.
//!
//! Without arguments it shows everything against servers of its own. `run` calls a tool of a
//! provider that somebody else runs, `serve` offers tools to somebody else's callers.

use clap::Parser;
use temporal_agents_examples_service::remote_tools::{self, Arguments};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    Box::pin(remote_tools::main(Arguments::parse())).await
}
