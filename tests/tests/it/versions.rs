//! Agents and tools that change while runs are open.

mod agent_sets;
mod chats;
mod last_agent;
pub(crate) mod support;
mod tools;
