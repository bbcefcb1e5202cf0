//! The messages of the conversation: those that the frontend had, and those of this stream.

use serde_json::Value;

use crate::http::agui::{AguiMessage, AguiRole};

/// The messages so far, as the frontend has them.
#[derive(Debug, Default)]
pub(super) struct MessageLog {
    /// The messages before this stream.
    given: Vec<AguiMessage>,
    /// The messages of this stream, each with the id of its subagent.
    sent: Vec<(Option<String>, AguiMessage)>,
}

impl MessageLog {
    /// Replaces the messages before this stream.
    pub(super) fn give(&mut self, messages: Vec<AguiMessage>) {
        self.given = messages;
    }

    /// Returns all messages.
    pub(super) fn all(&self) -> Vec<AguiMessage> {
        self.given.iter().chain(self.sent.iter().map(|(_, message)| message)).cloned().collect()
    }

    /// Returns `true` if a message before this stream makes this call.
    pub(super) fn was_given_call(&self, tool_call_id: &str) -> bool {
        self.given.iter().flat_map(|message| &message.tool_calls).any(|call| call.id == tool_call_id)
    }

    pub(super) fn push(&mut self, owner: Option<String>, message: AguiMessage) {
        self.sent.push((owner, message));
    }

    /// Appends to the text of a message.
    pub(super) fn append(&mut self, id: &str, role: &AguiRole, delta: &str) {
        if let Some(Value::String(text)) = self.content_of(id, role) {
            text.push_str(delta);
        }
    }

    /// Replaces the text of a message. Returns `false` if it is the same.
    pub(super) fn replace(&mut self, id: &str, role: &AguiRole, text: &str) -> bool {
        let Some(content) = self.content_of(id, role).filter(|content| *content != text) else { return false };
        *content = Value::String(text.to_owned());
        true
    }

    /// Removes a message.
    pub(super) fn remove(&mut self, id: &str, role: &AguiRole) {
        self.sent.retain(|(_, message)| message.id != id || message.role != *role);
    }

    /// Removes the messages of a subagent, or those of the run itself.
    pub(super) fn remove_of(&mut self, owner: Option<&str>) {
        self.sent.retain(|(of, _)| of.as_deref() != owner);
    }

    fn content_of(&mut self, id: &str, role: &AguiRole) -> Option<&mut Value> {
        let is_meant = |message: &AguiMessage| message.id == id && message.role == *role;
        let (_, message) = self.sent.iter_mut().rfind(|(_, message)| is_meant(message))?;
        message.content.as_mut()
    }
}
