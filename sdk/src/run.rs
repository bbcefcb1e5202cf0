//! One run of agents: its input and configuration, its result, its failure, and its session.
//!
//! These names are common to all hosts: a workflow's [`Runner`](crate::Runner), an `InlineRunner`,
//! an `AgenticSession`.

pub use temporal_agents_core::run::*;
