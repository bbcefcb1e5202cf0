//! The watch of a workflow's runs, in the workflow's context.
//!
//! A worker that counts sets it as a value of the workflow's context; without one, the cost is a
//! single lookup.

use temporal_agents_core::drive::watch::RunWatch;
use temporalio_workflow::WorkflowContextKey;

/// The key of the watch in the workflow's context: a function that creates the watch of a run.
#[derive(Debug)]
pub(crate) struct RunWatchKey;

impl WorkflowContextKey for RunWatchKey {
    type Value = Box<dyn Fn() -> Box<dyn RunWatch>>;
}
