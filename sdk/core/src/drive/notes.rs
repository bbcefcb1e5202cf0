//! Notes about a run: what history would not tell by itself.
//!
//! The outermost run notes its pauses and its end; a nested run only a guardrail that has tripped,
//! since its end is an output of a call.

use serde_json::Value;

use super::{
    compaction::Shortened,
    env::Env,
    host::{Host, Stays},
};
use crate::{
    engine::RunError,
    wire::{
        Item, RecordedFailure, RunState, SideData,
        event::{GatedCallNote, GuardrailStage, NoteKind, NotedOutput, RunNote, TrippedGuardrail, untold_outputs},
    },
};

/// Notes that a run begins from a state, with the decisions in it.
pub(super) fn resumed<H: Host>(env: &Env<'_, H>, state: &RunState) {
    // The outputs of calls before the pause were told by the run that paused.
    let done = untold_outputs(state, |_| false);
    env.shown.borrow_mut().extend(done.iter().filter_map(|item| item.call_id().map(str::to_owned)));
    env.host.note(&env.path, RunNote::resumed(state), &[]);
}

/// Notes that the run waits for decisions.
pub(super) fn paused<H: Host>(env: &Env<'_, H>, state: &RunState) {
    let note = of(env, state, NoteKind::Paused);
    // The next note does not repeat the outputs of this one.
    env.shown.borrow_mut().extend(note.outputs.iter().filter_map(Item::call_id).map(str::to_owned));
    env.host.note(&env.path, note, &state.interruptions());
}

/// Notes that the run has ended with an output.
pub(super) fn finished<H: Host>(env: &Env<'_, H>, state: &RunState, output: &Value) {
    let (output, usage) = (NotedOutput::of(output, state), state.usage.clone());
    env.host.note(&env.path, of(env, state, NoteKind::Finished { output, usage }), &[]);
}

/// Notes that the run has ended with an error; without a state, it has failed before it began. An
/// error with which the run leaves its execution, or pauses, is not an end.
pub(super) fn failed<H: Host>(env: &Env<'_, H>, state: Option<&RunState>, error: &RunError) {
    let usage = state.map(|state| state.usage.clone());
    let kind = match error {
        RunError::ContinuesAsNew { .. } | RunError::NeedsApproval { .. } => return,
        RunError::Cancelled { .. } => NoteKind::Cancelled { usage },
        error if Stays::is_source_of(error) => return,
        error => NoteKind::Failed { failure: failure(error), guardrail: tripped(error), usage },
    };
    let note = match state {
        Some(state) => of(env, state, kind),
        None => RunNote::new(env.graph.start(), 0, kind),
    };
    env.host.note(&env.path, note, &[]);
}

/// Notes that a guardrail of a nested run has tripped.
pub(super) fn nested_failed<H: Host>(env: &Env<'_, H>, state: &RunState, error: &RunError) {
    if let Some(guardrail) = tripped(error) {
        let note = RunNote::new(&*state.agent, state.turn, NoteKind::GuardrailTripped { guardrail });
        env.host.note(&env.path, note, &[]);
    }
}

/// Notes the data for other readers than the model that calls of this response have returned and
/// that no recorded effect shows.
pub(super) fn side_data<H: Host>(env: &Env<'_, H>, agent: &str, turn: u32, calls: Vec<(String, SideData)>) {
    if let Some(note) = RunNote::side_data(agent, turn, calls.into_iter()) {
        env.host.note(&env.path, note, &[]);
    }
}

/// Notes what the gate says about calls of a response.
pub(super) fn gated<H: Host>(env: &Env<'_, H>, agent: &str, turn: u32, calls: Vec<GatedCallNote>) {
    if let Some(note) = RunNote::gated(agent, turn, calls) {
        env.host.note(&env.path, note, &[]);
    }
}

/// Notes the calls of this response that have failed and that no recorded effect shows, in call
/// order.
pub(super) fn calls_failed<H: Host>(env: &Env<'_, H>, agent: &str, turn: u32) {
    let mut calls = env.failed_calls.take();
    calls.sort_by_key(|(index, _)| *index);
    if let Some(note) = RunNote::calls_failed(agent, turn, calls.into_iter().map(|(_, call)| call).collect()) {
        env.host.note(&env.path, note, &[]);
    }
}

/// Notes that the conversation was shortened.
pub(super) fn compacted<H: Host>(env: &Env<'_, H>, state: &RunState, shortened: Shortened) {
    let count = |items: usize| u32::try_from(items).unwrap_or(u32::MAX);
    let kind = NoteKind::Compacted { before: count(shortened.before), after: count(shortened.after) };
    env.host.note(&env.path, RunNote::new(&*state.agent, state.turn, kind), &[]);
}

fn of<H: Host>(env: &Env<'_, H>, state: &RunState, kind: NoteKind) -> RunNote {
    let shown = env.shown.borrow();
    let outputs = untold_outputs(state, |call_id| shown.contains(call_id));
    RunNote::new(&*state.agent, state.turn, kind).with_outputs(outputs)
}

fn failure(error: &RunError) -> RecordedFailure {
    RecordedFailure::short(error.name(), error.to_string())
}

fn tripped(error: &RunError) -> Option<TrippedGuardrail> {
    let (name, stage, tool, info) = match error {
        RunError::InputGuardrailTripped { result, .. } => {
            (&result.guardrail, GuardrailStage::Input, None, &result.output_info)
        }
        RunError::OutputGuardrailTripped { result, .. } => {
            (&result.guardrail, GuardrailStage::Output, None, &result.output_info)
        }
        RunError::ToolInputGuardrailTripped { tool, result, .. } => {
            (&result.guardrail, GuardrailStage::ToolInput, Some(&**tool), &result.output_info)
        }
        RunError::ToolOutputGuardrailTripped { tool, result, .. } => {
            (&result.guardrail, GuardrailStage::ToolOutput, Some(&**tool), &result.output_info)
        }
        _ => return None,
    };
    Some(TrippedGuardrail::new(name, stage, tool, info))
}
