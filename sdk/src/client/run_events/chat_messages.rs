//! The messages of a chat, as its history has them: those that an execution begins with, and the
//! ids that the chat assigns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use temporal_agents_core::wire::{ChatMessage, ChatReply};
#[cfg(feature = "http")]
use temporalio_client::{Client, NamespacedClient};

#[cfg(feature = "http")]
use super::{RunEventsError, pages::Pages};
#[cfg(feature = "http")]
use crate::client::history::{HistoryReader, Record, Start};

/// The messages that an execution of a chat begins with.
#[derive(Debug, Default)]
pub(super) struct CarriedMessages {
    pub(super) current: Option<ChatMessage>,
    pub(super) waiting: Vec<ChatMessage>,
    /// Ids of the messages that the chat remembers.
    answered: Vec<String>,
    /// Number of messages received so far.
    count: u32,
}

impl CarriedMessages {
    /// Reads the input of an execution. The conversation in it, which may be large, is not read.
    pub(super) fn of_input(input: &Value) -> Self {
        let member = |name: &str| input.pointer(&format!("/carried/{name}")).cloned().unwrap_or_default();
        let answered: Vec<ChatReply> = serde_json::from_value(member("answered")).unwrap_or_default();
        Self {
            current: serde_json::from_value(member("current")).ok(),
            waiting: serde_json::from_value(member("waiting")).unwrap_or_default(),
            answered: answered.into_iter().map(|reply| reply.message).collect(),
            count: serde_json::from_value(member("messages")).unwrap_or_default(),
        }
    }
}

/// The ids of the messages of a chat. A message without an id gets the one that the chat assigns.
#[derive(Debug, Default)]
pub(super) struct ChatMessages {
    count: u32,
    known: BTreeSet<String>,
    /// The messages that were received, by the event that accepted their update; `true` for one
    /// that was new.
    received: BTreeMap<i64, (String, bool)>,
}

impl ChatMessages {
    pub(super) fn of(carried: &CarriedMessages) -> Self {
        let CarriedMessages { current, waiting, answered, count } = carried;
        let open = current.iter().chain(waiting).filter_map(|message| message.id.clone());
        Self { count: *count, known: open.chain(answered.iter().cloned()).collect(), received: BTreeMap::new() }
    }

    /// Observes that the chat has received a message; returns its id.
    pub(super) fn received(&mut self, event: i64, id: Option<String>) -> String {
        let id = id.unwrap_or_else(|| format!("#{}", self.count.saturating_add(1)));
        let is_new = self.known.insert(id.clone());
        self.count = self.count.saturating_add(u32::from(is_new));
        self.received.insert(event, (id.clone(), is_new));
        id
    }

    /// Observes that the chat has refused a message; returns its id.
    pub(super) fn refused(&mut self, event: i64) -> Option<String> {
        let (id, was_new) = self.received.remove(&event)?;
        if was_new {
            self.known.remove(&id);
            self.count = self.count.saturating_sub(1);
        }
        Some(id)
    }
}

/// Reads the start of an execution of a workflow, with one request; `None` if it is gone.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
#[cfg(feature = "http")]
pub(super) async fn start(
    client: &Client,
    workflow_id: &str,
    execution: &str,
) -> Result<Option<Box<Start>>, RunEventsError> {
    let first = Pages::first_event(client, workflow_id, execution).next().await?;
    let Some(event) = first.into_iter().flatten().next() else { return Ok(None) };
    let records = HistoryReader::new(client.data_converter()).read(event).await;
    Ok(records.into_iter().find_map(|record| match record {
        Record::Started(start) => Some(start),
        _ => None,
    }))
}

/// The beginning of one execution of a chat.
#[cfg(feature = "http")]
#[derive(Debug, Default)]
pub(crate) struct ChatStart {
    /// Temporal's run id of the execution before; `None` for the first one.
    pub(crate) previous: Option<String>,
    /// Id of the message that is being answered.
    pub(crate) current: Option<String>,
    /// Ids of the messages that wait.
    pub(crate) waiting: Vec<String>,
    /// Ids of the messages that the chat remembers.
    pub(crate) answered: Vec<String>,
}

#[cfg(feature = "http")]
impl ChatStart {
    /// Returns `true` if the execution begins with this message.
    pub(super) fn knows(&self, message: &str) -> bool {
        self.current.iter().chain(&self.waiting).chain(&self.answered).any(|known| known == message)
    }
}

/// Reads the beginning of an execution of a chat, with one request.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
#[cfg(feature = "http")]
pub(super) async fn chat_start(
    client: &Client,
    workflow_id: &str,
    execution: &str,
) -> Result<ChatStart, RunEventsError> {
    let Some(start) = start(client, workflow_id, execution).await? else { return Ok(ChatStart::default()) };
    let CarriedMessages { current, waiting, answered, count: _ } = CarriedMessages::of_input(&start.input);
    Ok(ChatStart {
        previous: start.continued_from,
        current: current.and_then(|message| message.id),
        waiting: waiting.into_iter().filter_map(|message| message.id).collect(),
        answered,
    })
}

#[cfg(test)]
mod tests;
