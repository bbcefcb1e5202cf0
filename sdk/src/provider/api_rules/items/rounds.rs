//! The order of messages: the outputs of a model's calls follow the calls, before anything else.
//!
//! # Source
//! "An assistant message with 'tool_calls' must be followed by tool messages" (OpenAI); "Each
//! `tool_use` block must have a corresponding `tool_result` block in the next message" (Anthropic);
//! "function response turn comes immediately after a function call turn" (Google).

use std::collections::BTreeMap;

use temporal_agents_core::wire::{Item, ItemView};

/// What stands for the part of a conversation that begins with the model.
pub(super) const EARLIER: &str = "(The conversation before this point is left out.)";
/// What stands for an answer that the model did not give.
const STOPPED: &str = "(no answer)";
/// Asks the model to continue after its own message.
const CONTINUE: &str = "Continue.";

/// Returns the items in rounds: what the model answered, then the outputs of its calls in the order
/// of the calls. What others wrote while calls were open follows the outputs.
pub(super) fn order_outputs(items: Vec<Item>) -> Vec<Item> {
    let mut done = Vec::with_capacity(items.len());
    let mut round = Round::default();
    for item in items {
        match item.view() {
            ItemView::FunctionCallOutput { .. } | ItemView::NativeCallOutput { .. } => round.outputs.push(item),
            ItemView::Message { role, .. } if role != "assistant" => {
                if round.is_open() {
                    round.later.push(item);
                } else {
                    round.end(&mut done);
                    done.push(item);
                }
            }
            _ => {
                // What the model answers once all is answered begins the next round.
                if !round.is_open() && !round.outputs.is_empty() {
                    round.end(&mut done);
                }
                round.calls += usize::from(item.output_kind().is_some());
                round.answered.push(item);
            }
        }
    }
    round.end(&mut done);
    done
}

/// The items of one answer of a model.
#[derive(Default)]
struct Round {
    answered: Vec<Item>,
    outputs: Vec<Item>,
    /// Messages of others that arrived before the outputs.
    later: Vec<Item>,
    /// Number of calls among the answered items.
    calls: usize,
}

impl Round {
    /// Returns `true` while a call has no output.
    fn is_open(&self) -> bool {
        self.calls > self.outputs.len()
    }

    fn end(&mut self, done: &mut Vec<Item>) {
        let Self { mut answered, mut outputs, later, calls: _ } = std::mem::take(self);
        // Reasoning that led to nothing says nothing, and Anthropic refuses it.
        while answered.last().is_some_and(|item| item.kind() == "reasoning") {
            answered.pop();
        }
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for item in answered.iter().filter(|item| item.output_kind().is_some()) {
            let place = places.len();
            places.entry(item.call_id().unwrap_or_default()).or_insert(place);
        }
        outputs.sort_by_key(|output| places.get(output.call_id().unwrap_or_default()).copied());
        done.extend(answered);
        done.extend(outputs);
        done.extend(later);
    }
}

/// Returns the items with an answer of the model between the output of a tool and a message of the
/// user, for models that refuse one right after the other.
///
/// # Source
/// "Unexpected role 'user' after role 'tool'" (Mistral).
pub(super) fn add_missing_answers(items: Vec<Item>) -> Vec<Item> {
    let mut done: Vec<Item> = Vec::with_capacity(items.len());
    for item in items {
        let is_after_output = done.last().is_some_and(|last| last.as_output_kind().is_some());
        if is_after_output && matches!(item.view(), ItemView::Message { role, .. } if role != "assistant") {
            done.push(Item::message("assistant", STOPPED));
        }
        done.push(item);
    }
    done
}

/// Moves instructions to the front and makes the conversation begin and end with the user.
pub(super) fn add_user_ends(items: Vec<Item>) -> Vec<Item> {
    let is_instruction = |item: &Item| matches!(item.view(), ItemView::Message { role: "system" | "developer", .. });
    let (mut done, mut items): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_instruction);
    if items.first().is_none_or(super::is_from_model) {
        items.insert(0, Item::user(EARLIER));
    }
    if items.last().is_some_and(super::is_from_model) {
        items.push(Item::user(CONTINUE));
    }
    done.append(&mut items);
    done
}
