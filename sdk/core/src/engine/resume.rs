//! Resumes a run after a pause and applies the decisions.

use std::collections::BTreeMap;

use super::{
    error::RunError,
    orphans::without_orphan_calls,
    response::misbehaved,
    round,
    rules::{Rules, UnknownTools},
};
use crate::wire::{
    McpAnswer, RunState,
    run_state::{CallProgress, McpApproval, Phase, PlannedCall, RoundCall, ToolRound, TurnMark, content},
};

/// Prepares a paused run. Undecided calls continue to wait.
pub(super) fn take_up(state: &mut RunState) {
    let Phase::Interrupted { round } = &state.phase else { return };
    let mut round = round.clone();
    state.start_due = true;
    state.input = without_orphan_calls(std::mem::take(&mut state.input));
    state.turn_began = TurnMark::here(state);
    state.completed.clear();
    for call in &mut round.calls {
        let is_decided = state.approvals.on_round_call(&state.agent, call).is_some();
        let PlannedCall { tool, call_id, .. } = &call.call;
        match &mut call.progress {
            CallProgress::NeedsApproval if is_decided => {
                call.progress = CallProgress::Due;
            }
            CallProgress::NeedsOutput if state.approvals.on_output(&state.agent, tool, call_id).is_some() => {
                call.progress = CallProgress::Due;
            }
            CallProgress::NeedsInput { question } => {
                if let Some(decision) = state.approvals.take_answer(&state.agent, tool, call_id) {
                    call.answers.push(McpAnswer { question: question.clone(), content: content(&decision) });
                    call.progress = CallProgress::Due;
                }
            }
            CallProgress::Paused { run, since_earlier } => *since_earlier = !can_go_on(run),
            _ => {}
        }
    }
    let is_answered =
        |question: &McpApproval| question.waits_for_a_person() && state.approvals.on_mcp(question).is_some();
    let answered = round.mcp_approvals.iter().any(is_answered);
    round.resumed = true;
    // A state from another source may wait for nothing, and would then wait without end.
    if answered || round.calls.iter().any(is_due) || !round::waits(&round) {
        state.phase = Phase::ResumeDue { round };
    } else {
        round::ask_again(state, &round);
        round::list_nested_calls(state, &round);
        state.phase = Phase::Interrupted { round };
    }
}

fn is_due(call: &RoundCall) -> bool {
    matches!(call.progress, CallProgress::Due | CallProgress::Paused { since_earlier: false, .. })
}

/// Returns `true` if a nested run can continue: when all its calls are decided, or as soon as one
/// is rejected. Until then none of its calls runs.
fn can_go_on(run: &RunState) -> bool {
    let paused = run.paused_calls();
    let decisions = || paused.iter().map(|call| run.decision_on(&call.id));
    decisions().any(|decision| decision.is_some_and(|decision| !decision.approve))
        || decisions().all(|decision| decision.is_some())
}

/// Checks the decided calls against the tools that the agent has now.
///
/// # Errors
/// [`RunError::ModelBehavior`] if the tool of a call that is not rejected no longer exists, unless
/// unknown tools are reported to the model.
pub(super) fn decide(
    state: &mut RunState,
    mut round: ToolRound,
    offered: &BTreeMap<String, usize>,
    rules: &Rules,
) -> Result<Phase, RunError> {
    for call in round.calls.iter_mut().filter(|call| is_due(call)) {
        if offered.get(&call.call.tool) == Some(&call.call.variant) {
            continue;
        }
        let decision = state.approvals.on_round_call(&state.agent, call);
        if decision.is_some_and(|decision| !decision.approve) {
            continue;
        }
        if rules.unknown_tools == UnknownTools::Fail {
            return Err(misbehaved(state, format!("Tool {} not found in agent {}", call.call.tool, state.agent)));
        }
        call.is_known = false;
    }
    Ok(if round.calls.iter().any(is_due) {
        Phase::ToolsDue { round: Box::new(round) }
    } else {
        round::take(state, round, Vec::new())
    })
}
