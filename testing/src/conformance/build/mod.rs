//! A scenario as agents and settings of the library: each part of the format as the public API has it.
//!
//! Pure, because it runs inside the workflow, too, and again on replay. What author functions see goes to a [`Witness`];
//! the bodies of tools, which run on a worker, find the [`Recorder`](super::recorder::Recorder) among its states.

mod agent_tools;
mod agents;
mod config;
mod guardrails;
mod handlers;
mod handoffs;
mod hosted;
mod text;
mod tool_body;
mod tools;
mod witness;

pub(crate) use agents::{AnyAgent, Cast};
pub(crate) use config::run_config;
pub(crate) use tool_body::dispatchers;
pub(crate) use witness::{Seen, Witness};

/// What keeps a scenario from being built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// It names an agent that it does not have.
    #[error("there is no agent with the key {key:?}")]
    UnknownAgent {
        /// The key.
        key: String,
    },
    /// An agent would be a tool of itself, at whatever distance; definitions are finite.
    #[error("the agent {key:?} is a tool of itself")]
    ToolOfItself {
        /// The key.
        key: String,
    },
}
