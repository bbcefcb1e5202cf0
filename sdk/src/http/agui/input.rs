//! The request that starts or resumes a run, and the answers of people in it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    message::{AguiMessage, AguiRole, null_as_default},
    results::find_results,
};

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
    /// Values that the application adds to the request. Of an object, the member `toolsets` is read: names
    /// of the toolsets and devices whose tools the agents of the thread have beside their own. A thread
    /// keeps the toolsets of its first message.
    #[serde(default)]
    pub(crate) forwarded_props: Value,
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
    /// Returns the toolsets and devices that the application selects; `None` if it selects none.
    ///
    /// # Errors
    /// A message for the client, if they are not a list of names.
    pub(crate) fn toolsets(&self) -> Result<Option<Vec<String>>, String> {
        let toolsets = self.forwarded_props.get("toolsets").filter(|toolsets| !toolsets.is_null());
        let names = toolsets.map(Vec::<String>::deserialize).transpose();
        names.map_err(|_| "\"forwardedProps.toolsets\" must be a list of names".to_owned())
    }

    /// Returns the text of the latest message of the user; `None` if it has none.
    pub(crate) fn last_user_text(&self) -> Option<String> {
        self.messages.iter().rfind(|message| message.role == AguiRole::User)?.text()
    }

    /// Returns `true` if the messages may contain results of calls that wait.
    ///
    /// They do not if they end with a new message of the user, after an answer of the assistant to
    /// all results. Such a request needs no worker that tells which calls wait.
    pub(crate) fn may_contain_results(&self) -> bool {
        let last_of = |role: AguiRole| self.messages.iter().rposition(|message| message.role == role);
        let result = self.messages.iter().rposition(|message| message.answered_call().is_some());
        let assistant = last_of(AguiRole::Assistant);
        result > assistant || (result.is_some() && assistant > last_of(AguiRole::User))
    }

    /// Returns `true` if the last message is the result of a call. Results that name no call are
    /// ignored.
    pub(crate) fn ends_with_result(&self) -> bool {
        let is_named = |message: &&AguiMessage| message.role != AguiRole::Tool || message.answered_call().is_some();
        self.messages.iter().rfind(is_named).is_some_and(|message| message.role == AguiRole::Tool)
    }

    /// Returns the results of the calls that these questions are about, wherever they stand.
    pub(crate) fn find_results<'q>(&self, questions: &[&'q str]) -> Vec<(&'q str, String)> {
        find_results(&self.messages, questions)
    }

    /// Returns the results of these answered questions, if the request that has answered them is
    /// sent again.
    ///
    /// The messages also hold the results of earlier requests. The results of this request follow the
    /// last message of the assistant that has results after it. A text answer or a message of the
    /// user ends the search.
    pub(crate) fn results_sent_again<'q>(&self, questions: &[&'q str]) -> Vec<(&'q str, String)> {
        let mut messages = &self.messages[..];
        let mut has_passed_call = false;
        loop {
            let is_border = |message: &AguiMessage| match message.role {
                AguiRole::Assistant => true,
                AguiRole::User => has_passed_call,
                _ => false,
            };
            let border = messages.iter().rposition(is_border);
            let found = find_results(&messages[border.map_or(0, |at| at + 1)..], questions);
            match border {
                // An answer in `resume` is newer than all results before the latest call.
                Some(at) if found.is_empty() && self.resume.is_empty() && !messages[at].tool_calls.is_empty() => {
                    messages = &messages[..at];
                    has_passed_call = true;
                }
                _ => return found,
            }
        }
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
