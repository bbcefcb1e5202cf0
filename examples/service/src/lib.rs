//! The programs of temporal-agents that need its service features.

pub mod agents;
pub mod devices;
pub mod remote_tools;
pub mod serve;
