//! Where a tool's body may run: a file for each place.

mod child_agent;
mod child_workflow;
mod in_workflow;
mod local_activity;
mod nexus;
mod remote_activity;
mod side_data;
mod support;
