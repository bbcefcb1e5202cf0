//! Builds the next model call from the state of a run.

use super::{orphans::without_orphan_calls, rules::Rules, save::input_items};
use crate::wire::{
    Item, ModelCall, NewItemKind, RunState,
    run_state::{ServerConversation, TurnSetup},
};

/// Returns the model call of the turn that was set up.
pub(super) fn model_call(state: &RunState, setup: &TurnSetup, rules: &Rules) -> ModelCall {
    let mut definitions = setup.definitions.clone();
    let has_used_tools = state.tools_used.get(&state.agent).is_some_and(|tools| !tools.is_empty());
    if setup.reset_tool_choice && has_used_tools {
        definitions.settings.tool_choice = None;
    }
    let input = match &state.server {
        Some(server) if has_some(server) => unseen(state, server),
        _ => everything(state, rules),
    };
    let mut call = ModelCall::new(&*state.agent, &*setup.model, definitions, input);
    call.turn = state.turn;
    call.guards_output = setup.guards_output;
    if let Some(server) = &state.server {
        call.previous_response_id.clone_from(&server.previous_response_id);
        call.conversation_id.clone_from(&server.conversation_id);
    }
    call
}

/// Returns `true` if the provider has a part of the conversation.
fn has_some(server: &ServerConversation) -> bool {
    server.has_input || server.previous_response_id.is_some() || server.conversation_id.is_some()
}

/// Returns the run's input unchanged, then the items since, without calls that have no output.
fn everything(state: &RunState, rules: &Rules) -> Vec<Item> {
    let happened = without_orphan_calls(input_items(state.model_items(), rules.reasoning_item_ids));
    state.input.iter().cloned().chain(happened).collect()
}

/// Returns the items that the provider has not received: the input at first, then the items made by
/// the run itself.
fn unseen(state: &RunState, server: &ServerConversation) -> Vec<Item> {
    let is_made_here = |kind: NewItemKind| {
        matches!(kind, NewItemKind::ToolCallOutput | NewItemKind::HandoffOutput | NewItemKind::McpApprovalResponse)
    };
    let input = if server.has_input { &[][..] } else { &*state.input };
    let new = state.items.get(server.seen_items..).unwrap_or_default();
    let made_here = new.iter().filter(|item| is_made_here(item.kind)).map(|item| &item.raw);
    input.iter().chain(made_here).cloned().collect()
}

/// Records that the provider has the items of the call and of its own response.
pub(super) fn was_seen(state: &mut RunState, response_id: Option<&str>) {
    let seen = state.items.len();
    let Some(server) = &mut state.server else { return };
    server.has_input = true;
    server.seen_items = seen;
    if let (true, Some(id)) = (server.chained && server.conversation_id.is_none(), response_id) {
        server.previous_response_id = Some(id.to_owned());
    }
}
