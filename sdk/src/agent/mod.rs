//! What an author writes: agents, their instructions, handoffs and output types.
//!
//! Definitions only: nothing here runs. An [`Agent`] is built by chained setters that cannot fail; what is wrong
//! with a graph of agents is found all at once by [`Graph::check`](Graph::check), which a run and the worker do first.

mod def;
mod graph;
mod graph_issue;
mod handoff;
mod instructions;
mod output;

pub use def::{Agent, AgentDef};
pub use graph::Graph;
pub use graph_issue::{GraphError, GraphIssue};
pub use handoff::{Handoff, HandoffIssue, HandoffTarget, OnHandoff, tool_name_of};
pub use instructions::{AgentInfo, ComputeInstructions, Instructions};
pub use output::{OutputDef, OutputType};
