//! The request of a page: its messages, and the decisions and outputs in them.
//!
//! Parts are kept as JSON, because a page may send kinds that this crate does not know; those are
//! skipped. The size of a request is limited by the server that receives it, not here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::mapper::call_in_message;

/// Maximum number of decisions that are read from a message.
const MAX_ANSWERS: usize = 256;
/// Maximum length of an id in bytes; parts with longer ids are skipped.
const MAX_ID_BYTES: usize = 1024;
/// Maximum length of a reason in bytes; longer ones are truncated.
const MAX_REASON_BYTES: usize = 1024;

/// The body of a `POST` of a page: all messages of the conversation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct ChatPost {
    /// Id of the conversation.
    pub(in crate::http) id: String,
    /// The messages, oldest first.
    #[serde(default)]
    pub(in crate::http) messages: Vec<UiMessage>,
    /// Reason for the request.
    #[serde(default)]
    pub(in crate::http) trigger: Trigger,
    /// Names of the toolsets and devices whose tools the agents of the conversation have beside their
    /// own: `body` of the transport. A conversation keeps those that it has begun with.
    #[serde(default)]
    pub(in crate::http) toolsets: Option<Vec<String>>,
}

/// Reason for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::http) enum Trigger {
    /// A new message, or answers to calls of the last one.
    #[default]
    SubmitMessage,
    /// An answer is requested again.
    RegenerateMessage,
    /// A trigger of a later release.
    #[serde(other)]
    Other,
}

/// A message of a page.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(in crate::http) struct UiMessage {
    /// Id of the message.
    #[serde(default)]
    pub(in crate::http) id: String,
    /// Author of the message.
    pub(in crate::http) role: Role,
    /// The parts, unchanged.
    #[serde(default)]
    pub(in crate::http) parts: Vec<Value>,
}

/// Author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::http) enum Role {
    /// The person at the page.
    User,
    /// An agent.
    Assistant,
    /// The application.
    System,
    /// An author of a later release.
    #[serde(other)]
    Other,
}

/// A decision of the person at the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct ApprovalResponse {
    /// Id of the interruption.
    pub(in crate::http) approval_id: String,
    /// Id of the call in the message.
    pub(in crate::http) tool_call_id: String,
    /// `true` if the call may be made.
    pub(in crate::http) approved: bool,
    /// Reason that the person wrote, at most 1,024 bytes.
    pub(in crate::http) reason: Option<String>,
}

impl ChatPost {
    /// Returns the id and the text of the last message of the user; `None` if there is no such
    /// message, or if it has no text. Text parts are joined by line breaks.
    pub(in crate::http) fn last_user_message(&self) -> Option<(String, String)> {
        let message = self.last_of(Role::User)?;
        let texts = message.parts.iter().filter(|part| part["type"] == "text");
        let texts: Vec<&str> = texts.filter_map(|part| part["text"].as_str()).collect();
        let text = texts.join("\n");
        (!text.is_empty()).then(|| (message.id.clone(), text))
    }

    /// Returns the decisions in the last message of an agent.
    pub(in crate::http) fn decisions(&self) -> Vec<ApprovalResponse> {
        let decided = |(call_id, part): (&str, &Value)| {
            let approval = part.get("approval")?;
            let reason = approval["reason"].as_str().filter(|reason| !reason.is_empty());
            Some(ApprovalResponse {
                approval_id: short(&approval["id"])?.to_owned(),
                tool_call_id: call_id.to_owned(),
                approved: approval["approved"].as_bool()?,
                reason: reason.map(|reason| reason[..reason.floor_char_boundary(MAX_REASON_BYTES)].to_owned()),
            })
        };
        let is_decided = |(_, part): &(&str, &Value)| part["state"] == "approval-responded";
        self.calls().filter(is_decided).filter_map(decided).take(MAX_ANSWERS).collect()
    }

    /// Returns `true` if the last message of an agent has outputs.
    ///
    /// The page calls client tools itself, and has the outputs of the run's own tools from the
    /// stream.
    pub(in crate::http) fn has_outputs(&self) -> bool {
        self.calls().any(|(_, part)| part_output(part).is_some())
    }

    /// Returns the outputs of the calls that these questions are about, from the last message of an
    /// agent. An error is returned as the output `{"error": TEXT}`. Of several parts of a call the
    /// last one counts.
    pub(in crate::http) fn find_outputs<'q>(&self, questions: &[&'q str]) -> Vec<(&'q str, Value)> {
        find_outputs(self.calls(), questions)
    }

    /// Returns the outputs of answered questions in a request that is sent again.
    ///
    /// They are in the last step of the page; earlier steps belong to earlier requests.
    pub(in crate::http) fn outputs_sent_again<'q>(&self, questions: &[&'q str]) -> Vec<(&'q str, Value)> {
        let parts = self.last_of(Role::Assistant).map_or(&[][..], |message| &message.parts);
        let step = parts.iter().rposition(|part| part["type"] == "step-start");
        find_outputs(calls(&parts[step.map_or(0, |at| at + 1)..]), questions)
    }

    /// Returns the ids of the calls in the last message of an agent.
    pub(in crate::http) fn call_ids(&self) -> Vec<String> {
        self.calls().map(|(call_id, _)| call_id.to_owned()).collect()
    }

    /// Returns the id of the last message, if an agent wrote it: the next stream continues it.
    pub(in crate::http) fn continues_assistant(&self) -> Option<String> {
        let last = self.messages.last()?;
        (last.role == Role::Assistant).then(|| last.id.clone())
    }

    fn last_of(&self, role: Role) -> Option<&UiMessage> {
        self.messages.iter().rev().find(|message| message.role == role)
    }

    /// Returns the tool parts of the last message of an agent, with the ids of their calls.
    fn calls(&self) -> impl Iterator<Item = (&str, &Value)> {
        calls(self.last_of(Role::Assistant).map_or(&[][..], |message| &message.parts))
    }
}

/// Returns the tool parts, with the ids of their calls.
fn calls(parts: &[Value]) -> impl Iterator<Item = (&str, &Value)> {
    parts.iter().filter_map(|part| {
        let kind = part["type"].as_str()?;
        let is_call = kind == "dynamic-tool" || kind.starts_with("tool-");
        is_call.then(|| short(&part["toolCallId"])).flatten().map(|call_id| (call_id, part))
    })
}

fn find_outputs<'p, 'q>(
    calls: impl Iterator<Item = (&'p str, &'p Value)>,
    questions: &[&'q str],
) -> Vec<(&'q str, Value)> {
    let mut parts: BTreeMap<&str, &Value> = calls.collect();
    let output = |question: &&'q str| Some((*question, part_output(parts.remove(&*call_in_message(question))?)?));
    questions.iter().filter_map(output).collect()
}

/// Returns the output in the part of a call, if it has one.
fn part_output(part: &Value) -> Option<Value> {
    match part["state"].as_str()? {
        "output-available" => Some(part.get("output").cloned().unwrap_or(Value::Null)),
        "output-error" => Some(json!({"error": part["errorText"].as_str().unwrap_or_default()})),
        _ => None,
    }
}

/// Returns an id that is not too long.
fn short(id: &Value) -> Option<&str> {
    id.as_str().filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)
}

#[cfg(test)]
mod tests;
