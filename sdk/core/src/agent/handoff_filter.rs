//! Filters of the conversation that an agent receives with a handoff.

use std::{fmt, sync::Arc};

use super::handoff_history::nest_history;
use crate::wire::{Item, NewItem, NewItemKind};

/// The conversation at a handoff, as the argument and the result of a filter.
///
/// # Source
/// `HandoffInputData` of the OpenAI Agents SDK.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HandoffInputData {
    /// The input of the run, or its replacement by an earlier handoff.
    pub input_history: Vec<Item>,
    /// The items of the run before the turn of the handoff.
    pub pre_handoff_items: Vec<NewItem>,
    /// The items of the turn, including the handoff's call and output.
    pub new_items: Vec<NewItem>,
    /// The items that the next agent receives in place of the new items, which then are only in the
    /// result and in the session. `None`: the next agent receives the new items.
    pub input_items: Option<Vec<NewItem>>,
    pub(crate) forwarded: Forwarded,
}

/// Indices of the items that a nested history contains verbatim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// Indices into the items before the turn.
    pub(crate) earlier: Vec<usize>,
    /// Indices into the items of the turn.
    pub(crate) new: Vec<usize>,
}

impl HandoffInputData {
    /// Returns a conversation with these three parts.
    pub fn new(input_history: Vec<Item>, pre_handoff_items: Vec<NewItem>, new_items: Vec<NewItem>) -> Self {
        Self { input_history, pre_handoff_items, new_items, input_items: None, forwarded: Forwarded::default() }
    }
}

/// A function that changes the conversation that the next agent receives.
///
/// # Determinism
/// The function runs in the workflow, again on replay.
#[derive(Clone)]
pub struct HandoffInputFilter(Arc<dyn Fn(HandoffInputData) -> HandoffInputData + Send + Sync>);

impl HandoffInputFilter {
    /// Returns a filter that calls this function.
    pub fn new(filter: impl Fn(HandoffInputData) -> HandoffInputData + Send + Sync + 'static) -> Self {
        Self(Arc::new(filter))
    }

    /// Returns a filter that drops all items about tools: calls and outputs, handoffs, reasoning,
    /// hosted MCP.
    pub fn remove_all_tools() -> Self {
        Self::new(remove_all_tools)
    }

    /// Returns a filter that replaces everything except the messages of the turn by a summary
    /// message; see [`nest_history`].
    pub fn nest_history() -> Self {
        Self::new(nest_history)
    }

    /// Returns the conversation as the filter changes it.
    pub fn apply(&self, data: HandoffInputData) -> HandoffInputData {
        (self.0)(data)
    }
}

impl fmt::Debug for HandoffInputFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandoffInputFilter")
    }
}

fn remove_all_tools(mut data: HandoffInputData) -> HandoffInputData {
    data.input_history.retain(|item| !is_tool_item(item.kind()));
    let is_not_tool = |item: &NewItem| {
        matches!(item.kind, NewItemKind::MessageOutput | NewItemKind::Compaction | NewItemKind::Unknown)
    };
    let new_for_model = data.input_items.iter_mut();
    for items in [&mut data.pre_handoff_items, &mut data.new_items].into_iter().chain(new_for_model) {
        items.retain(is_not_tool);
    }
    data
}

/// Returns `true` if a raw item of this type is about tools.
fn is_tool_item(kind: &str) -> bool {
    let by_name =
        ["reasoning", "tool_search_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"];
    kind.ends_with("_call")
        || kind.ends_with("_call_output")
        || kind == "program"
        || kind == "program_output"
        || by_name.contains(&kind)
}
