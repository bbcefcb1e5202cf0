//! The beginning of a run in the execution after: its state is taken out of the input, or loaded from the history before.

use std::{cell::RefCell, rc::Rc};

use temporalio_workflow::WorkflowCancellationToken;

use super::{
    origin::check_phase,
    stored::{self, Loaded, StoreError},
    task_failure::fail_task,
};
use crate::{
    engine::RunError,
    wire::{CarriedState, Ledger, RunState},
    workflow::{context::DurableContext, limits::size::content_of},
};

/// What a run has brought along.
#[derive(Clone, Copy, Debug)]
pub(in crate::workflow) struct Arrived {
    /// How often it has continued as new.
    pub(super) continued: u32,
    /// The size of its state.
    pub(super) bytes: usize,
    /// How much of it models are to be sent once more: all of it, where it came in the input.
    pub(super) sent_again: usize,
}

/// Takes a run up. `start` is the agent it is to go on with, for errors; `run` is asked for what the ids of activities begin with,
/// if there are any.
///
/// A state that this build does not read fails the workflow task.
///
/// # Errors
/// [`RunError::Refused`] when it is a state that no execution leaves;
/// [`RunError::Continuation`] when the state cannot be had, [`RunError::Cancelled`].
pub(in crate::workflow) async fn arrive(
    ctx: &Rc<dyn DurableContext>,
    start: &str,
    run: impl FnOnce() -> String,
    (continued, state): (u32, CarriedState),
    token: &WorkflowCancellationToken,
    ledger: &RefCell<Ledger>,
) -> Result<(RunState, Arrived), RunError> {
    let (state, arrived) = match state {
        CarriedState::Inline { state } => {
            let bytes = content_of(&state).unwrap_or_default();
            (*state, Arrived { continued, bytes, sent_again: bytes })
        }
        CarriedState::Kept(kept) => {
            ctx.show("loads its state from the execution before".to_owned());
            let bytes = usize::try_from(kept.bytes).unwrap_or(usize::MAX);
            match stored::load(ctx, &run(), start, kept, token).await {
                Ok(Loaded { state, activity_id, chunks }) => {
                    ledger.borrow_mut().loaded(&activity_id, chunks, &state);
                    (state, Arrived { continued, bytes, sent_again: 0 })
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
