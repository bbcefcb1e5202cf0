//! Workflows that are there already: a run of an agent, and a chat with one. Both wait for decisions and continue as new by
//! themselves.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] makes items without either")]

mod agent_set;
mod agent_workflow;
mod chat;
mod chat_workflow;

pub use agent_set::AgentSet;
pub use agent_workflow::AgentWorkflow;
pub use chat_workflow::ChatWorkflow;
