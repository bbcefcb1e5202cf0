//! A service in one command: a dev server, a worker and the API, with `cargo run --bin serve`.
//!
//! It prints `READY http://127.0.0.1:PORT` once everything behind the port is ready, and stops what
//! it has started at SIGTERM or Ctrl-C.

use clap::Parser;
use temporal_agents_examples_service::serve::{Options, serve};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .init();
    serve(Options::parse()).await
}
