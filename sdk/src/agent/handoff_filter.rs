//! What an agent sees of the conversation that is handed to it.

use std::{fmt, sync::Arc};

use super::handoff_history::nest_history;
use crate::wire::{Item, NewItem, NewItemKind};

/// The conversation at a handoff, for a filter to change.
///
/// # Source
/// `HandoffInputData` of the OpenAI Agents SDK.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct HandoffInputData {
    /// What the run was started with, or what an earlier handoff made of it.
    pub input_history: Vec<Item>,
    /// What has happened before the turn of the handoff.
    pub pre_handoff_items: Vec<NewItem>,
    /// The items of the turn, the handoff's call and output among them.
    pub new_items: Vec<NewItem>,
    /// What the next agent gets instead of the new items; these then only stay in the result and in
    /// the session.
    pub input_items: Option<Vec<NewItem>>,
    pub(crate) forwarded: Forwarded,
}

/// What stands word for word in a nested history, by place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// Among the items before the turn.
    pub(crate) earlier: Vec<usize>,
    /// Among the items of the turn.
    pub(crate) new: Vec<usize>,
}

impl HandoffInputData {
    /// A conversation in these three parts.
    pub fn new(input_history: Vec<Item>, pre_handoff_items: Vec<NewItem>, new_items: Vec<NewItem>) -> Self {
        Self { input_history, pre_handoff_items, new_items, input_items: None, forwarded: Forwarded::default() }
    }
}

/// A function that changes what the next agent sees.
///
/// # Determinism
/// It runs in the workflow, again on replay.
#[derive(Clone)]
pub struct HandoffInputFilter(Arc<dyn Fn(HandoffInputData) -> HandoffInputData + Send + Sync>);

impl HandoffInputFilter {
    /// This function as a filter.
    pub fn new(filter: impl Fn(HandoffInputData) -> HandoffInputData + Send + Sync + 'static) -> Self {
        Self(Arc::new(filter))
    }

    /// Drops everything about tools: calls and outputs, handoffs, reasoning, hosted MCP.
    pub fn remove_all_tools() -> Self {
        Self::new(remove_all_tools)
    }

    /// Makes a summary message of everything but the messages of the turn; see [`nest_history`].
    pub fn nest_history() -> Self {
        Self::new(nest_history)
    }

    /// Changes the conversation.
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
    data.input_history.retain(|item| !is_about_tools(item.kind()));
    let is_no_tool = |item: &NewItem| {
        matches!(item.kind, NewItemKind::MessageOutput | NewItemKind::Compaction | NewItemKind::Unknown)
    };
    let new_for_model = data.input_items.iter_mut();
    for items in [&mut data.pre_handoff_items, &mut data.new_items].into_iter().chain(new_for_model) {
        items.retain(is_no_tool);
    }
    data
}

/// Whether a raw item is about tools.
fn is_about_tools(kind: &str) -> bool {
    let by_name =
        ["reasoning", "tool_search_output", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response"];
    kind.ends_with("_call")
        || kind.ends_with("_call_output")
        || kind == "program"
        || kind == "program_output"
        || by_name.contains(&kind)
}
