//! The messages in the events of a run: those that it received, and those of its agents.

use temporal_agents_core::wire::{EventKind, Item, ItemView, RunEvent};

use super::write::is_of_run;
use crate::store::sql::text::storable;

/// A row of `agents_messages`.
#[derive(Debug)]
pub(super) struct MessageRow<'e> {
    /// The event that contains the message.
    pub(super) sequence: i64,
    /// Its place among the messages of the event.
    pub(super) position: i64,
    /// Role of the message: `user`, `assistant`, `system`, `developer`.
    pub(super) role: String,
    /// The agent that wrote it; empty for a message that the run received.
    pub(super) agent: String,
    /// The text.
    pub(super) content: String,
    pub(super) item: &'e Item,
    pub(super) created_at: &'e str,
}

/// Returns the messages in an event. Those of runs inside of the run are left out: they are no part
/// of its conversation.
pub(super) fn messages_of(sequence: i64, event: &RunEvent) -> Vec<MessageRow<'_>> {
    let (items, agent) = match &event.kind {
        _ if !is_of_run(event) => return Vec::new(),
        EventKind::RunStarted { input } => (input.as_slice(), ""),
        EventKind::Message { item, .. } => (std::slice::from_ref(item), &*event.agent),
        _ => return Vec::new(),
    };
    let message = |(position, item): (i64, _)| {
        let ItemView::Message { role, .. } = Item::view(item) else { return None };
        Some(MessageRow {
            sequence,
            position,
            role: storable(role).into_owned(),
            agent: storable(agent).into_owned(),
            content: storable(&item.text().unwrap_or_default()).into_owned(),
            item,
            created_at: &event.time,
        })
    };
    (0..).zip(items).filter_map(message).collect()
}
