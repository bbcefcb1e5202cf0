//! How the server says that an execution has begun: what its input carries counts only if an execution before has left it.
//!
//! Anybody who may start a workflow writes its input, and a run in it would skip guardrails and approvals. Which execution another one
//! was continued from is written by the server alone. It does not say which code has continued it: whoever may also run workers in the
//! namespace can continue a workflow of theirs as this one. Namespaces are the boundary against them.
//!
//! # Design
//! **A start is not believed.** What an input carries is used only where the server's own record
//! names the execution before, and the workflow itself continued; retries and cron schedules fill
//! the same field and are refused. A state must be at `turn_due`, `interrupted` or `finished`. What
//! else a caller may request is in `workflow/ready_made/admission.rs`.

use temporalio_workflow::{WorkflowContextView, common::protos::temporal::api::enums::v1::ContinueAsNewInitiator};

use crate::{
    engine::RunError,
    wire::{CarriedState, RunState},
};

/// Why what an input carries was left by no execution before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::workflow) enum NotContinued {
    /// Somebody has started the execution.
    #[error(
        "the server does not say that this execution was continued as new from another one, and only the execution before may \
         leave it something"
    )]
    Started,
    /// The server fills the same field for the next attempt, whose input is that of the attempt before.
    #[error(
        "this execution is a retry, which begins with the input that the attempt before was started with; start the workflow \
         without a retry policy (its activities have their own)"
    )]
    Retry,
    /// The server fills the same field for the next execution of the schedule.
    #[error(
        "the workflow has a cron schedule, whose executions begin with the same input again and again; start it by a Temporal \
         schedule instead"
    )]
    Cron,
}

/// The id of the execution that this one was continued from, by its workflow.
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
        // Unspecified is what a server may make of a workflow that does not say it.
        ContinueAsNewInitiator::Workflow | ContinueAsNewInitiator::Unspecified => Ok(before),
    }
}

/// What an input carries is not taken.
pub(in crate::workflow) fn refused(agent: &str, what: &str, reason: impl ToString) -> RunError {
    RunError::Refused { agent: agent.to_owned(), what: what.to_owned(), reason: reason.to_string() }
}

/// Checks that a run was left by the execution before, before anything of it is believed.
///
/// # Errors
/// [`RunError::Refused`] when the server does not say so, and when its state is to be had from another execution.
pub(in crate::workflow) fn check(
    agent: &str,
    before: Result<String, NotContinued>,
    state: &CarriedState,
) -> Result<(), RunError> {
    let before = before.map_err(|why| refused(agent, CARRIED_RUN, why))?;
    match state {
        CarriedState::Kept(kept) if kept.run_id != before => {
            let reason = format!(
                "its state is to be read from the history of execution {:?}, and the execution before is {before:?}",
                kept.run_id
            );
            Err(refused(agent, CARRIED_RUN, reason))
        }
        _ => Ok(()),
    }
}

/// Checks that a state is one in which a run is left.
///
/// # Errors
/// [`RunError::Refused`] with the phase. Any other would begin in the middle of a turn, behind the checks before it.
pub(super) fn check_phase(agent: &str, state: &RunState) -> Result<(), RunError> {
    match state.phase.kind_inside_a_turn() {
        None => Ok(()),
        Some(kind) => {
            let reason = format!(
                "it is at {kind:?}, and a run is left only where a turn begins (\"turn_due\"), where it waits for decisions \
                 (\"interrupted\"), and at its end (\"finished\")"
            );
            Err(refused(agent, CARRIED_RUN, reason))
        }
    }
}

const CARRIED_RUN: &str = "the run that the input carries";

#[cfg(test)]
mod tests;
