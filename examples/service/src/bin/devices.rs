//! Tools on somebody's machine, in a durable run: `cargo run --bin devices`.
//!
//! Without arguments it shows everything against servers of its own, in four processes. `gateway`,
//! `device` and `worker` are those processes.

use clap::Parser;
use temporal_agents_examples_service::devices::{self, Arguments};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    devices::main(Arguments::parse()).await
}
