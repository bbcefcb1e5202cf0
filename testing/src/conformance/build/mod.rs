//! Converts a scenario to agents and settings of the library: each part of the format through the
//! public API.
//!
//! This module is pure, because it also runs inside the workflow, and again on replay. The calls of
//! author functions are recorded in a [`Witness`]; the bodies of tools, which run on a worker, find
//! the [`Recorder`](super::recorder::Recorder) among the worker's states.

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

/// A reason for which a scenario cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// The scenario names an agent that it does not contain.
    #[error("there is no agent with the key {key:?}")]
    UnknownAgent {
        /// Key of the missing agent, as the scenario names it.
        key: String,
    },
    /// An agent is, directly or through other agents, a tool of itself. Definitions are finite, so
    /// this graph cannot be built.
    #[error("the agent {key:?} is a tool of itself")]
    ToolOfItself {
        /// Key of the agent.
        key: String,
    },
}
