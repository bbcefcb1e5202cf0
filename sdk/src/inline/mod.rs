//! The inline host: runs agents in the calling process, without Temporal.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "activities run once, outside of workflows: clock, environment and tasks are theirs to use"
)]

mod body;
mod effects;
pub(crate) mod host;
pub(crate) mod mcp;
mod model;
pub(crate) mod run_threads;
pub(crate) mod runner;
pub(crate) mod states;

pub use runner::InlineRunner;
