//! The request that starts or resumes a run, and the answers of people in it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::message::{AguiMessage, AguiRole, null_as_default};

/// The request: the whole state of the frontend.
///
/// JSON shape: `{"threadId": "t1", "runId": "r1", "messages": [..], "tools": [], "context": []}`,
/// with `resume` after an interrupt. Unknown members are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunAgentInput {
    pub(crate) thread_id: String,
    pub(crate) run_id: String,
    /// The conversation as the frontend has it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) messages: Vec<AguiMessage>,
    /// The tools that the frontend executes.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) tools: Vec<AguiTool>,
    /// The answers to interrupts.
    #[serde(default, deserialize_with = "null_as_default")]
    pub(crate) resume: Vec<ResumeEntry>,
}

/// A tool that the frontend executes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub(crate) struct AguiTool {
    pub(crate) name: String,
}

/// The answer to an interrupt.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResumeEntry {
    pub(crate) interrupt_id: String,
    pub(crate) status: ResumeStatus,
    #[serde(default)]
    pub(crate) payload: Option<Value>,
}

/// The status of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ResumeStatus {
    /// A person has answered.
    Resolved,
    /// Nobody will answer.
    Cancelled,
    /// A status that this build does not know.
    #[serde(other)]
    Other,
}

/// A decision on a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResumeDecision {
    /// The call is made.
    Approve,
    /// The call is made with these arguments.
    ApproveWith { arguments: Map<String, Value> },
    /// The call is not made; the model gets the message.
    Reject { message: Option<String> },
}

/// An answer to a request for input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InputAnswer {
    /// The input.
    Answer(Map<String, Value>),
    /// Nobody supplies the input.
    Declined,
}

impl RunAgentInput {
    /// Returns the text of the latest message of the user; `None` if it has none.
    pub(crate) fn last_user_text(&self) -> Option<String> {
        self.messages.iter().rfind(|message| message.role == AguiRole::User)?.text()
    }

    /// Returns the ids of the tool calls that the frontend has made since the latest message of the
    /// assistant, each with the text of its result.
    pub(crate) fn tool_results_after_last_assistant(&self) -> Vec<(String, String)> {
        let is_new = |message: &&AguiMessage| message.role != AguiRole::Assistant;
        let result_of = |message: &AguiMessage| {
            let call_id = message.tool_call_id.clone().filter(|_| message.role == AguiRole::Tool)?;
            Some((call_id, message.text().unwrap_or_default()))
        };
        let mut results: Vec<_> = self.messages.iter().rev().take_while(is_new).filter_map(result_of).collect();
        results.reverse();
        results
    }
}

impl ResumeEntry {
    /// Returns the decision on a tool call.
    ///
    /// # Errors
    /// A message for the client that says what to send, if the answer is not a decision.
    pub(crate) fn decision(&self) -> Result<ResumeDecision, String> {
        if self.is_cancelled()? {
            return Ok(ResumeDecision::Reject { message: None });
        }
        let payload = self.payload.as_ref();
        let member = |name: &str| payload.and_then(|payload| payload.get(name)).filter(|value| !value.is_null());
        match member("approved") {
            Some(Value::Bool(true)) => match member("editedArgs") {
                None => Ok(ResumeDecision::Approve),
                Some(Value::Object(arguments)) => Ok(ResumeDecision::ApproveWith { arguments: arguments.clone() }),
                Some(_) => Err(self.refusal("editedArgs must be a JSON object, the arguments of the call")),
            },
            _ if member("editedArgs").is_some() => {
                Err(self.refusal("editedArgs are for a call that is approved: send {\"approved\": true}"))
            }
            Some(Value::Bool(false)) => {
                let message = member("reason").or_else(|| member("message")).and_then(Value::as_str);
                Ok(ResumeDecision::Reject { message: message.map(str::to_owned) })
            }
            _ => Err(self.refusal("the payload must be {\"approved\": true} or {\"approved\": false}")),
        }
    }

    /// Returns the answer to a request for input.
    ///
    /// # Errors
    /// A message for the client that says what to send, if the payload is not an object.
    pub(crate) fn input_answer(&self) -> Result<InputAnswer, String> {
        if self.is_cancelled()? {
            return Ok(InputAnswer::Declined);
        }
        match &self.payload {
            Some(Value::Object(answer)) => Ok(InputAnswer::Answer(answer.clone())),
            _ => Err(self.refusal("the payload must be a JSON object that fits the responseSchema of the interrupt")),
        }
    }

    fn is_cancelled(&self) -> Result<bool, String> {
        match self.status {
            ResumeStatus::Resolved => Ok(false),
            ResumeStatus::Cancelled => Ok(true),
            ResumeStatus::Other => Err(self.refusal("the status must be \"resolved\" or \"cancelled\"")),
        }
    }

    fn refusal(&self, reason: &str) -> String {
        format!("resume of interrupt {:?}: {reason}", self.interrupt_id)
    }
}

#[cfg(test)]
mod tests;
