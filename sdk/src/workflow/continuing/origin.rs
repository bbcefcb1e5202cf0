//! Verifies how an execution began: a run that its input carries is accepted only if a previous
//! execution has left it.
//!
//! Any caller with permission to start a workflow can write its input, and a run in it would skip
//! guardrails and approvals. Only the server records which execution another one was continued
//! from. It does not record which code continued it: a party that may also run workers in the
//! namespace can continue a workflow of its own as this one. Namespaces are the boundary against
//! such parties.
//!
//! # Design
//! **The input of a start is not trusted.** A carried run is used only where the server's own
//! record names the previous execution, and the workflow itself has continued as new; retries and
//! cron schedules fill the same field and are refused. A state must be at `turn_due`, `interrupted`
//! or `finished`. The other restrictions on callers are in `workflow/ready_made/admission.rs`.

use temporal_agents_core::{
    engine::RunError,
    wire::{RunState, carried::CarriedState},
};
use temporalio_workflow::{WorkflowContextView, common::protos::temporal::api::enums::v1::ContinueAsNewInitiator};

/// The reason why the content that an input carries was not left by a previous execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::workflow) enum NotContinued {
    /// The execution was started, and not continued from another one.
    #[error(
        "the server does not record that this execution was continued as new from another one, and only a previous \
         execution may leave it data"
    )]
    Started,
    /// The workflow is retried. The server fills the same field for the next attempt, whose input
    /// is that of the previous attempt.
    #[error(
        "this execution is a retry, which begins with the input of the previous attempt; start the workflow without a \
         retry policy (its activities have their own)"
    )]
    Retry,
    /// The workflow has a cron schedule. The server fills the same field for the next execution of
    /// the schedule.
    #[error(
        "the workflow has a cron schedule, whose executions all begin with the same input; start it by a Temporal \
         schedule instead"
    )]
    Cron,
}

/// Returns the id of the execution that continued as new into this one.
///
/// # Errors
/// [`NotContinued`].
pub(in crate::workflow) fn continued_from(info: &WorkflowContextView) -> Result<String, NotContinued> {
    let before = info.continued_from_run_id();
    continued(before, info.raw().continued_initiator(), info.cron_schedule().is_some()).map(str::to_owned)
}

fn continued(
    before: Option<&str>,
    initiator: ContinueAsNewInitiator,
    has_cron_schedule: bool,
) -> Result<&str, NotContinued> {
    let before = before.ok_or(NotContinued::Started)?;
    match initiator {
        ContinueAsNewInitiator::Retry => Err(NotContinued::Retry),
        ContinueAsNewInitiator::CronSchedule => Err(NotContinued::Cron),
        _ if has_cron_schedule => Err(NotContinued::Cron),
        // `Unspecified`: servers may report this for a workflow that continues as new without an
        // initiator.
        ContinueAsNewInitiator::Workflow | ContinueAsNewInitiator::Unspecified => Ok(before),
    }
}

/// Returns the error for a part of the input that is refused.
pub(in crate::workflow) fn refused(agent: &str, what: &str, reason: impl ToString) -> RunError {
    RunError::Refused { agent: agent.to_owned(), what: what.to_owned(), reason: reason.to_string() }
}

/// Checks that the previous execution has left this run, before any part of it is used.
///
/// # Errors
/// [`RunError::Refused`] if the server does not record a previous execution, or if the state is
/// stored in the history of another execution.
pub(in crate::workflow) fn check(
    agent: &str,
    before: Result<String, NotContinued>,
    state: &CarriedState,
) -> Result<(), RunError> {
    let before = before.map_err(|why| refused(agent, CARRIED_RUN, why))?;
    match state {
        CarriedState::Kept(kept) if kept.run_id != before => {
            let reason = format!(
                "its state is in the history of execution {:?}, but the previous execution is {before:?}",
                kept.run_id
            );
            Err(refused(agent, CARRIED_RUN, reason))
        }
        _ => Ok(()),
    }
}

/// Checks that a state is in a phase in which a run can be left.
///
/// # Errors
/// [`RunError::Refused`] with the phase. A run in any other phase would begin in the middle of a
/// turn, past the checks that come before it.
pub(super) fn check_phase(agent: &str, state: &RunState) -> Result<(), RunError> {
    match state.phase.kind_inside_a_turn() {
        None => Ok(()),
        Some(kind) => {
            let reason = format!(
                "it is in phase {kind:?}, but a run is carried only at the beginning of a turn (\"turn_due\"), while \
                 it waits for decisions (\"interrupted\"), or at its end (\"finished\")"
            );
            Err(refused(agent, CARRIED_RUN, reason))
        }
    }
}

const CARRIED_RUN: &str = "the run that the input carries";

#[cfg(test)]
mod tests;
