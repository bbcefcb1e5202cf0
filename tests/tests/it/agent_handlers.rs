//! Runs that wait for decisions, decided through the handlers that `#[agent_handlers]` adds to a workflow.

pub(crate) mod batches;
mod callers;
mod cancelled;
mod carried;
mod chat_updates;
mod decided_by;
mod decisions;
mod early;
mod nested;
mod side_by_side;
mod state;
pub(crate) mod support;
mod taken_up;
