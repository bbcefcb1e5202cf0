//! Workflows that are there already: a run of an agent, and a chat with one, which wait for decisions and continue as new by themselves;
//! and a person's decision on a call.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] makes items without either")]

mod admission;
mod agent_set;
mod agent_workflow;
mod approval_workflow;
mod chat;
mod chat_agents;
mod chat_workflow;
mod versions;

pub use agent_set::AgentSet;
pub use agent_workflow::AgentWorkflow;
pub use approval_workflow::ApprovalWorkflow;
pub use chat_workflow::ChatWorkflow;
