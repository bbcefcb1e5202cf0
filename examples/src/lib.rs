//! The modules of the runnable examples; the tests also use them.
//!
//! Each module except [`stage`] is one example. Its `mod.rs` holds the author's code, agents and
//! workflow; its `model.rs` is the script of the model that answers without a key.

pub mod agents_as_tools;
pub mod approval;
pub mod client_tools;
pub mod code_review;
pub mod deterministic_chain;
pub mod guardrails;
pub mod handoffs;
pub mod incident_triage;
pub mod mcp;
pub mod nexus;
pub mod parallel_agents;
pub mod provider_switch;
pub mod quickstart;
pub mod research;
pub mod secrets;
pub mod sessions;
pub mod stage;
pub mod streaming;
pub mod structured_output;
pub mod tools;
pub mod versions;
