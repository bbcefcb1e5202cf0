//! A narrator behind the ready-made workflows, for clients in any language: `AgentWorkflow` and
//! `ChatWorkflow` need only a worker from a program.

pub mod demonstration;
pub mod model;
pub mod watch;
pub mod worker;

use temporal_agents::Agent;

/// Returns the agent that clients call, directly or in a chat.
pub fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5-mini").instructions("You tell a story of exactly 200 words.")
}
