//! Where a tool's body may run: a file for each place.

mod child_agent;
mod child_workflow;
pub(crate) mod in_workflow;
mod local_activity;
pub(crate) mod nexus;
mod remote_activity;
pub(crate) mod side_data;
mod support;
