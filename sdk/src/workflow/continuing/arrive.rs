//! The start of a run in the next execution: takes its state from the input, or loads it from the
//! history of the previous execution.

use std::{cell::RefCell, rc::Rc};

use temporal_agents_core::{
    engine::RunError,
    wire::{Ledger, RunState, carried::CarriedState},
};
use temporalio_workflow::WorkflowCancellationToken;

use super::{
    origin::check_phase,
    stored::{self, Loaded, StoreError},
    task_failure::fail_task,
};
use crate::workflow::{context::DurableContext, limits::size::content_of};

/// Properties of the run that an execution received from the previous one.
#[derive(Clone, Copy, Debug)]
pub(in crate::workflow) struct RestoredRun {
    /// Number of times that the run has continued as new.
    pub(super) continued: u32,
    /// Size of the state, in bytes.
    pub(super) bytes: usize,
    /// Bytes of the state that have to be sent to models again: all of them if the state came in
    /// the input.
    pub(super) sent_again: usize,
}

/// Restores the run that the previous execution left. `start` is the name of the agent that the run
/// continues with, for errors; `run` returns the prefix of the run's activity ids, and is called
/// only if activities are scheduled.
///
/// A state that this build cannot read fails the workflow task.
///
/// # Errors
/// [`RunError::Refused`] if no execution leaves a state in this phase; [`RunError::Continuation`]
/// if the state cannot be loaded; [`RunError::Cancelled`].
pub(in crate::workflow) async fn arrive(
    ctx: &Rc<dyn DurableContext>,
    start: &str,
    run: impl FnOnce() -> String,
    (continued, state): (u32, CarriedState),
    token: &WorkflowCancellationToken,
    ledger: &RefCell<Ledger>,
) -> Result<(RunState, RestoredRun), RunError> {
    let (state, arrived) = match state {
        CarriedState::Inline { state } => {
            let bytes = content_of(&state).unwrap_or_default();
            (*state, RestoredRun { continued, bytes, sent_again: bytes })
        }
        CarriedState::Kept(kept) => {
            ctx.show("loads its state from the previous execution".to_owned());
            let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
            match stored::load(ctx, &run(), start, kept, token).await {
                Ok(Loaded { state, activity_id, chunks }) => {
                    ledger.borrow_mut().loaded(&activity_id, chunks, &state);
                    (state, RestoredRun { continued, bytes, sent_again: 0 })
                }
                Err(StoreError::Cancelled) => {
                    return Err(RunError::Cancelled { agent: start.to_owned(), turn: 0 });
                }
                Err(StoreError::Unreadable(source)) => {
                    fail_task(&**ctx, start, format_args!("its state cannot be read: {source}")).await;
                    return Err(RunError::Continuation { agent: start.to_owned(), turn: 0, source });
                }
                Err(StoreError::Failed(source)) => {
                    return Err(RunError::Continuation { agent: start.to_owned(), turn: 0, source });
                }
            }
        }
    };
    check_phase(start, &state)?;
    Ok((state, arrived))
}
