//! The inline host: runs agents in the calling process, without Temporal.
//!
//! No history is kept: a crash loses the run, unless a state from [`InlineRunner::on_checkpoint`]
//! was stored. See [hosts](crate::guide::hosts).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod activity;
mod body;
mod deltas;
mod effects;
pub(crate) mod host;
pub(crate) mod mcp;
mod model;
mod observed_call;
mod remote;
pub(crate) mod run_threads;
pub(crate) mod runner;
mod session;
pub(crate) mod states;

pub use crate::events::RunTracer;
pub use runner::InlineRunner;
