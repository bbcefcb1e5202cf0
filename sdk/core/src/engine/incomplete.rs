//! Decides what follows a response without a usable answer: it is empty, or its calls may be cut.
//!
//! A text that stops early is an answer, and [`RunState::incomplete`] marks it. Calls of a response
//! that stops early are never made, because the arguments of the last one may be cut, and some APIs
//! write the calls of one response side by side. What a run does then is a rule of its
//! configuration ([`IncompleteAnswers`]).
//!
//! # Design
//! **At most [`MAX_UNANSWERED`] such responses in a row.** The same input often has the same
//! outcome, for example reasoning up to the limit of tokens, and each time is billed. A run without
//! a limit of turns would not end.

use super::{
    error::RunError,
    response::Sorted,
    rules::{IncompleteAnswers, Rules},
};
use crate::wire::{
    Item, NewItem, NewItemKind, RunState,
    incomplete::{EMPTY, PAUSE_TURN, may_be_cut},
    run_state::{Phase, ServerConversation, TurnSetup},
};

/// Most responses in a row without a usable answer; the last one ends the run.
const MAX_UNANSWERED: u32 = 3;

/// Returns why a response has no usable answer; `None` if it has one.
pub(super) fn reason(incomplete: Option<&str>, setup: &TurnSetup, sorted: &Sorted) -> Option<String> {
    let is_structured = setup.definitions.output.is_some();
    let reason = match incomplete {
        Some(PAUSE_TURN) => return None,
        Some(reason) if sorted.has_calls() => return may_be_cut(reason).then(|| reason.to_owned()),
        None if sorted.has_calls() => return None,
        // As in the OpenAI Agents SDK: the model is asked again for a missing structured output, and
        // a response of nothing at all is the empty text. Providers mark what their APIs left empty.
        None | Some(EMPTY) if is_structured => return None,
        None if sorted.items.is_empty() || sorted.items.iter().any(|item| item.kind != NewItemKind::Reasoning) => {
            return None;
        }
        reason => reason.unwrap_or(EMPTY),
    };
    let says_nothing = sorted.last_message.as_ref().is_none_or(Item::is_blank_message);
    // A run whose handler replaces a missing structured output has its own rule.
    let is_replaced = is_structured && setup.handles_empty_output;
    (says_nothing && !sorted.needs_another_turn && !is_replaced).then(|| reason.to_owned())
}

/// Returns the phase after a response without a usable answer.
///
/// `server` is the conversation at the provider before the response.
///
/// # Errors
/// [`RunError::IncompleteAnswer`], unless the run asks the model again.
pub(super) fn resolve(
    state: &mut RunState,
    setup: &TurnSetup,
    rules: &Rules,
    sorted: Sorted,
    reason: String,
    server: Option<ServerConversation>,
) -> Result<Phase, RunError> {
    state.unanswered = state.unanswered.saturating_add(1);
    // Calls of hosted servers and of the provider's own tools have no output that says so.
    let can_tell = sorted.has_calls()
        && sorted.mcp_approvals.is_empty()
        && sorted.calls.iter().all(|call| call.call.native.is_none());
    let has_conversation = server.as_ref().is_some_and(|server| server.conversation_id.is_some());
    match rules.incomplete_answers {
        _ if state.unanswered >= MAX_UNANSWERED => Err(error(state, setup, &sorted, reason)),
        IncompleteAnswers::TellModel if can_tell => {
            tell_model(state, sorted, &reason);
            Ok(Phase::TurnDue)
        }
        // The provider has the conversation: there is nothing to send it again.
        IncompleteAnswers::TellModel | IncompleteAnswers::AskAgain if !has_conversation => {
            state.server = server;
            Ok(Phase::TurnDue)
        }
        _ => Err(error(state, setup, &sorted, reason)),
    }
}

/// Counts a paused turn that holds nothing as a response without a usable answer.
///
/// # Errors
/// [`RunError::IncompleteAnswer`] for the last of several in a row.
pub(super) fn count_pause(state: &mut RunState, setup: &TurnSetup, sorted: &Sorted) -> Result<(), RunError> {
    state.unanswered = if sorted.items.is_empty() { state.unanswered.saturating_add(1) } else { 0 };
    if state.unanswered >= MAX_UNANSWERED {
        return Err(error(state, setup, sorted, PAUSE_TURN.to_owned()));
    }
    Ok(())
}

fn error(state: &RunState, setup: &TurnSetup, sorted: &Sorted, reason: String) -> RunError {
    RunError::IncompleteAnswer {
        agent: state.agent.clone(),
        turn: state.turn,
        reason,
        calls: sorted.function_calls().map(|(_, name)| name.to_owned()).collect(),
        max_tokens: setup.definitions.settings.max_tokens,
    }
}

/// Keeps the response, with an output for each call that says it was not made.
fn tell_model(state: &mut RunState, sorted: Sorted, reason: &str) {
    let output = format!(
        "This call was not made, because your answer stopped before it was complete ({reason}). Answer again, in \
         fewer words or with fewer calls."
    );
    let to_output = |(call_id, _): (&str, &str)| NewItem {
        kind: NewItemKind::ToolCallOutput,
        agent: state.agent.clone(),
        raw: Item::failed_function_call_output(call_id, output.as_str().into()),
        handoff: None,
        side_data: None,
    };
    let outputs: Vec<NewItem> = sorted.function_calls().map(to_output).collect();
    state.items.extend(sorted.items);
    state.items.extend(outputs);
}
