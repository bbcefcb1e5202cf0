//! The wait of a run for decisions on its calls.

use super::{
    env::Env,
    expiry,
    host::{Host, LoopEvent, Stays, WaitOutcome},
    mcp_session, notes,
    result::RunFailure,
};
use crate::{
    engine::RunError,
    wire::{
        RunState,
        run_state::{CallProgress, Phase},
    },
};

/// The patch of runs with a compaction that leave an execution only between two turns, because only
/// there the conversation can be shortened first.
const COMPACTED_BEFORE_LEAVING: &str = "temporal-agents/shortened-before-leaving";

/// The end of a wait.
pub(super) enum Waited {
    /// At least one call is decided: the run resumes.
    Decided(Box<RunState>),
    /// The run ends paused.
    Undecided(Box<RunState>),
}

/// Waits until a call of an interrupted run is decided, or the run ends paused. The run may
/// continue as new before the wait, and during it.
///
/// # Errors
/// The run was cancelled, or has left this execution.
pub(super) async fn wait<H: Host>(
    env: &Env<'_, H>,
    mut state: Box<RunState>,
    scope: &H::Scope,
) -> Result<Waited, RunFailure> {
    let &Env { host, config, .. } = env;
    expiry::set(env, &mut state);
    // A conversation is shortened between two turns only, so a run with a compaction leaves after
    // the turn. The exception is a run that waits for a nested agent: this wait, and the turn with
    // it, may take long.
    let is_shortened_first =
        || config.compaction.is_some() && !has_paused_nested_run(&state) && host.patched(COMPACTED_BEFORE_LEAVING);
    if host.is_continuation_due(&state) && !is_shortened_first() {
        let error = host.continue_elsewhere(&state, scope).await;
        if !Stays::is_source_of(&error) {
            return Err(RunFailure { error, state: Some(state) });
        }
    }
    notes::paused(env, &state);
    host.observe(&LoopEvent::Paused { interruptions: &state.interruptions() });
    loop {
        match host.wait_for_decisions(&mut state, scope).await {
            WaitOutcome::Decided => {
                expiry::forget_decided(&mut state);
                host.observe(&LoopEvent::Resumed { state: &state });
                return Ok(Waited::Decided(state));
            }
            WaitOutcome::ContinuesElsewhere => {
                if host.is_continuation_due(&state) {
                    let error = host.continue_elsewhere(&state, scope).await;
                    if !Stays::is_source_of(&error) {
                        return Err(RunFailure { error, state: Some(state) });
                    }
                }
            }
            WaitOutcome::Undecided => return Ok(Waited::Undecided(state)),
            WaitOutcome::Cancelled => {
                mcp_session::close(env, std::mem::take(&mut state.mcp_sessions)).await;
                let error = RunError::Cancelled { agent: state.agent.clone(), turn: state.turn };
                return Err(RunFailure { error, state: Some(state) });
            }
        }
    }
}

/// Returns `true` if an agent that is a tool of the run waits for decisions.
fn has_paused_nested_run(state: &RunState) -> bool {
    let Phase::Interrupted { round } = &state.phase else { return false };
    round.calls.iter().any(|call| matches!(call.progress, CallProgress::Paused { .. }))
}
