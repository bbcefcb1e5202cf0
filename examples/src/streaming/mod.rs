//! A narrator behind the ready-made workflows, for clients in any language: what `AgentWorkflow` and `ChatWorkflow` need of a program is a worker.

pub mod model;
pub mod worker;

use temporal_agents::Agent;

/// The agent that clients talk to, directly or in a chat.
pub fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5-mini").instructions("You tell a story of exactly 200 words.")
}
