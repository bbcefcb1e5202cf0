//! Tools by name: dispatched without an agent by the rules of a run, and the same ones in agents.

mod agents;
mod dispatch;
mod failures;
mod mcp;
