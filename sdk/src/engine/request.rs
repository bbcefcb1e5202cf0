//! From the state of a run to the next model call.

use crate::wire::{Item, ModelCall, NewItemKind, RunState, run_state::TurnSetup};

/// The model call of the turn that was set up.
pub(super) fn model_call(state: &RunState, setup: &TurnSetup) -> ModelCall {
    let mut definitions = setup.definitions.clone();
    let has_used_tools = state.tools_used.get(&state.agent).is_some_and(|tools| !tools.is_empty());
    if setup.reset_tool_choice && has_used_tools {
        definitions.settings.tool_choice = None;
    }
    let mut call = ModelCall::new(&*state.agent, &*setup.model, definitions, input(state));
    call.turn = state.turn;
    call
}

/// What the model is given: the run's input, then what has happened since, each item once.
fn input(state: &RunState) -> Vec<Item> {
    let happened = state.items.iter().filter(|item| item.kind != NewItemKind::ToolApproval).map(|item| &item.raw);
    super::dedupe::once(state.input.iter().chain(happened).cloned().collect())
}
