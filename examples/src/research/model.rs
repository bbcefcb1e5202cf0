//! The script of the model: a function of the turn and the newest output, so that it continues in
//! any process, whatever a compaction has left of the conversation.

use std::time::Duration;

use serde_json::{Value, json};
use temporal_agents::wire::{Item, ItemView, ModelCall};
use temporal_agents_testing::fake_model::{FakeModel, Reply, item, text};

use super::{archive::YEARS, journal::is_summary};

/// The turns of the script: the list, two for each yearbook, and the conclusion.
pub const TURNS: u32 = 38;
/// The first turn that reads a yearbook.
const FIRST_READ: u32 = 2;

/// The last answer.
pub const CONCLUSION: &str = "The first cherry blossom of 2018 opened nine days earlier than that of 2001.";

/// A model that lists the years, reads and notes each, and concludes; an answer takes `delay`.
pub fn scripted(delay: Duration) -> FakeModel {
    FakeModel::function(move |call, _| play(call).delayed(delay))
}

fn play(call: &ModelCall) -> Reply {
    if is_summary(call) {
        return text(format!(
            "All yearbooks before that of {} are read, and their findings are noted.",
            year(call.turn)
        ));
    }
    match call.turn {
        1 => request(call, "list_years", &json!({})),
        TURNS.. => text(CONCLUSION),
        turn if turn % 2 == FIRST_READ % 2 => request(call, "read_yearbook", &json!({"year": year(turn)})),
        turn => request(call, "note", &json!({"year": year(turn), "day": day(&call.input)})),
    }
}

/// Returns the year that a turn reads or notes.
fn year(turn: u32) -> u16 {
    let index = u16::try_from(turn.saturating_sub(FIRST_READ) / 2).unwrap_or(u16::MAX);
    YEARS.start().saturating_add(index).min(*YEARS.end())
}

/// Returns the day in the newest yearbook of the conversation.
fn day(input: &[Item]) -> Option<u16> {
    let output = input.iter().rev().find_map(|item| match item.view() {
        ItemView::FunctionCallOutput { output, .. } => Some(output.to_string()),
        _ => None,
    })?;
    output.split_once("opened on day ")?.1.split(' ').next()?.parse().ok()
}

/// Requests a call. Its id is that of the turn: a compaction shortens the conversation, so ids that
/// count its items would occur twice.
fn request(call: &ModelCall, tool: &str, arguments: &Value) -> Reply {
    let id = format!("turn_{}", call.turn);
    item(json!({"type": "function_call", "call_id": id, "name": tool, "arguments": arguments.to_string()}))
}
