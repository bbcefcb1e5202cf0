//! The JSON of kinds: a name, and members that are kept if this build does not know them.

use serde::{Deserialize, de::Error as _};
use serde_json::{Map, Value};

use super::EventKind;
use crate::wire::event::members_of;

impl EventKind {
    /// Returns the name of the kind, as in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::RunStarted { .. } => "run_started",
            Self::RunResumed {} => "run_resumed",
            Self::RunContinued { .. } => "run_continued",
            Self::RunReset { .. } => "run_reset",
            Self::RunPaused {} => "run_paused",
            Self::RunFinished { .. } => "run_finished",
            Self::RunFailed { .. } => "run_failed",
            Self::RunCancelled { .. } => "run_cancelled",
            Self::RunTerminated { .. } => "run_terminated",
            Self::RunTimedOut {} => "run_timed_out",
            Self::TurnStarted {} => "turn_started",
            Self::ModelCallScheduled { .. } => "model_call_scheduled",
            Self::ModelCallAnswered { .. } => "model_call_answered",
            Self::ModelCallFailed { .. } => "model_call_failed",
            Self::Message { .. } => "message",
            Self::Reasoning { .. } => "reasoning",
            Self::ToolCall { .. } => "tool_call",
            Self::OtherItem { .. } => "other_item",
            Self::ToolOutput { .. } => "tool_output",
            Self::ToolFailed { .. } => "tool_failed",
            Self::Handoff { .. } => "handoff",
            Self::GuardrailTripped { .. } => "guardrail_tripped",
            Self::ToolGated { .. } => "tool_gated",
            Self::QuestionAsked { .. } => "question_asked",
            Self::QuestionDecided { .. } => "question_decided",
            Self::Compaction { .. } => "compaction",
            Self::ChatMessageDelta { .. } => "chat_message_delta",
            Self::AttemptDelta { .. } => "attempt_delta",
            Self::TextDelta { .. } => "text_delta",
            Self::ReasoningDelta { .. } => "reasoning_delta",
            Self::ToolArgumentsDelta { .. } => "tool_arguments_delta",
            Self::ToolOutputDelta { .. } => "tool_output_delta",
            Self::EmittedDelta { .. } => "emitted_delta",
            Self::Other { kind, .. } => kind,
        }
    }

    /// Returns `true` if the run has ended with this event.
    pub fn ends_the_run(&self) -> bool {
        matches!(
            self,
            Self::RunFinished { .. }
                | Self::RunFailed { .. }
                | Self::RunCancelled { .. }
                | Self::RunTerminated { .. }
                | Self::RunTimedOut {}
        )
    }

    pub(in crate::wire::event) fn into_members(self) -> Result<Map<String, Value>, serde_json::Error> {
        match self {
            Self::Other { kind, mut members } => {
                members.insert("kind".to_owned(), kind.into());
                Ok(members)
            }
            known => members_of(&known),
        }
    }

    /// Reads the kind from its members. Also returns those that the kind does not have.
    pub(in crate::wire::event) fn of_members(
        mut members: Map<String, Value>,
    ) -> Result<(Self, Map<String, Value>), serde_json::Error> {
        let kind = match members.get("kind") {
            Some(Value::String(kind)) => kind.clone(),
            _ => return Err(serde_json::Error::custom("an event has a string \"kind\"")),
        };
        // A known kind of a later release may have values that this build cannot read; the event
        // is then kept as it came.
        let Ok(known) = Self::deserialize(Value::Object(members.clone())) else {
            members.shift_remove("kind");
            return Ok((Self::Other { kind, members }, Map::new()));
        };
        let written = members_of(&known)?;
        members.retain(|name, value| !written.contains_key(name) && !is_absent(value));
        Ok((known, members))
    }
}

/// Returns `true` for a value that is written by leaving the member out.
fn is_absent(value: &Value) -> bool {
    matches!(value, Value::Null)
}
