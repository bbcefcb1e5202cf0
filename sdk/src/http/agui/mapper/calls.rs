//! Tool calls and their results.
//!
//! # Design
//! **A call has its own id** (the model's call id) wherever possible: clients, interruptions and
//! histories refer to it. Only a call of a nested run whose id another run has used is prefixed
//! with the path of its run.

use serde_json::{Value, json};

use super::AguiMapper;
use crate::http::agui::{AguiEvent, AguiMessage, AguiRole};

/// The calls of the stream.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    scope: usize,
    chosen_id: String,
    /// Id in the stream.
    id: String,
    /// Id of the message with the result.
    result: Option<String>,
}

impl Calls {
    /// Returns the scope and the stream's id of the latest call with this id at this depth.
    pub(super) fn latest(&self, call_id: &str, is_at_depth: impl Fn(usize) -> bool) -> Option<(usize, &str)> {
        let is_meant = |call: &&Call| call.chosen_id == call_id && is_at_depth(call.scope);
        self.calls.iter().rev().find(is_meant).map(|call| (call.scope, &*call.id))
    }

    /// Forgets the calls of a scope.
    pub(super) fn remove_of(&mut self, scope: usize) {
        self.calls.retain(|call| call.scope != scope);
    }

    fn at(&mut self, scope: usize, call_id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.scope == scope && call.chosen_id == call_id)
    }
}

impl AguiMapper {
    /// Sends a call. A call that the model repeats is not made again, and is not sent.
    pub(super) fn tool_call(&mut self, scope: usize, turn: u32, call_id: &str, name: &str, arguments: &str) {
        if self.calls.at(scope, call_id).is_some() {
            return;
        }
        let tool_call_id = self.tool_call_id(scope, call_id);
        let call = Call { scope, chosen_id: call_id.to_owned(), id: tool_call_id.clone(), result: None };
        self.calls.calls.push(call);
        let calls_of_turn = self.scopes[scope].tool_calls.entry(turn).or_default();
        calls_of_turn.push((name.to_owned(), tool_call_id.clone()));
        if self.is_resumed && self.log.was_given_call(&tool_call_id) {
            return;
        }
        let subagent_run_id = self.owner(scope);
        self.log.push(subagent_run_id.clone(), AguiMessage::calling(&tool_call_id, name, arguments));
        self.out.push(AguiEvent::ToolCallStart {
            tool_call_id: tool_call_id.clone(),
            tool_call_name: name.to_owned(),
            subagent_run_id: subagent_run_id.clone(),
        });
        if !arguments.is_empty() {
            self.out.push(AguiEvent::ToolCallArgs {
                tool_call_id: tool_call_id.clone(),
                delta: arguments.to_owned(),
                subagent_run_id: subagent_run_id.clone(),
            });
        }
        self.out.push(AguiEvent::ToolCallEnd { tool_call_id, subagent_run_id });
    }

    /// Sends the output of a call, also of one that an earlier stream has sent. A later output
    /// replaces the one before. The protocol's result has no place for a failure, but its message
    /// does: a custom event comes before the result of a call that has failed.
    pub(super) fn tool_output(
        &mut self,
        scope: usize,
        event_id: &str,
        call_id: &str,
        output: &Value,
        is_failure: bool,
    ) {
        let content = match output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let tool_call_id = self.tool_call_id(scope, call_id);
        if self.calls.at(scope, call_id).is_none() {
            let call = Call { scope, chosen_id: call_id.to_owned(), id: tool_call_id.clone(), result: None };
            self.calls.calls.push(call);
        }
        if is_failure {
            self.custom(scope, "tool_failed", json!({"toolCallId": tool_call_id, "error": content}));
        }
        let before = self.calls.at(scope, call_id).and_then(|call| call.result.clone());
        if let Some(message_id) = before {
            if self.log.replace(&message_id, &AguiRole::Tool, &content) {
                self.snapshot();
            }
            return;
        }
        let message_id = match event_id {
            "" => self.fresh_id(&format!("{tool_call_id}-result"), 2),
            id => self.fresh_id(id, 2),
        };
        if let Some(call) = self.calls.at(scope, call_id) {
            call.result = Some(message_id.clone());
        }
        let subagent_run_id = self.owner(scope);
        let result = if is_failure { AguiMessage::failed_result } else { AguiMessage::result };
        self.log.push(subagent_run_id.clone(), result(&message_id, &tool_call_id, &content));
        self.out.push(AguiEvent::ToolCallResult { message_id, tool_call_id, content, role: "tool", subagent_run_id });
    }

    /// Returns the id in the stream of a call of a scope.
    pub(super) fn tool_call_id(&mut self, scope: usize, call_id: &str) -> String {
        if let Some(call) = self.calls.at(scope, call_id) {
            return call.id.clone();
        }
        let prefixed = format!("{}/{call_id}", self.scopes[scope].prefix());
        let is_nested = self.scopes[scope].subagent.is_some();
        let is_used = |id: &str| self.calls.calls.iter().any(|call| call.id == id);
        if is_nested && (self.log.was_given_call(&prefixed) || is_used(call_id)) {
            let numbered = (2..=u32::MAX).map(|number| format!("{prefixed}#{number}"));
            let mut ids = std::iter::once(prefixed.clone()).chain(numbered);
            return ids.find(|id| !is_used(id)).unwrap_or(prefixed);
        }
        // A nested run may have used the id of a later call of the outermost run.
        let numbered = (2..=u32::MAX).map(|number| format!("{call_id}#{number}"));
        let mut ids = std::iter::once(call_id.to_owned()).chain(numbered);
        ids.find(|id| !is_used(id)).unwrap_or_else(|| call_id.to_owned())
    }

    /// Returns the id of the call whose effect this part of a path names: `1-tool-0`; `None` where
    /// it cannot be derived.
    pub(super) fn call_of_path(&self, scope: usize, part: &str) -> Option<String> {
        let (turn, index) = part.split_once("-tool-")?;
        let calls = self.scopes[scope].tool_calls.get(&turn.parse().ok()?)?;
        // Handoffs have no place in the numbers of a turn's tools.
        if calls.iter().any(|(name, _)| name.starts_with("transfer_to_")) {
            return None;
        }
        calls.get(index.parse::<usize>().ok()?).map(|(_, id)| id.clone())
    }
}
