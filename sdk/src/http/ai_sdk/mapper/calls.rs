//! The tool parts: calls, outputs, and calls that wait.
//!
//! A client refuses a chunk about a call that its message does not have. The calls of the run
//! itself are in the message, if not in this stream then in an earlier one. The calls of nested
//! agents and of hosted MCP servers are not: their parts begin when they wait for a decision.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use temporal_agents_core::wire::{AgentInterruption, InterruptionKind, Verdict, arguments::read_arguments};

use super::steps::Steps;
use crate::{
    events::{call_id_of, without_number},
    http::ai_sdk::chunk::Chunk,
};

/// The calls of a message.
#[derive(Default)]
pub(super) struct Calls {
    /// The calls of the step that is under way.
    step: BTreeMap<String, CallInput>,
    /// The calls whose parts a reset of the step has removed.
    lost: BTreeMap<String, CallInput>,
    /// Ids of the parts that began when their calls waited.
    announced: BTreeSet<String>,
    /// Ids of the calls that a person has rejected.
    rejected: BTreeSet<String>,
}

/// The output of a call.
#[derive(Clone, Copy)]
pub(super) struct CallOutput<'o> {
    pub(super) output: &'o Value,
    /// Number of the attempt that returned it; 0 for a call without attempts.
    pub(super) attempts: u32,
    /// `true` if it is the message that the model receives about a failed call.
    pub(super) is_failure: bool,
}

#[derive(Clone)]
struct CallInput {
    name: String,
    input: Value,
}

impl Calls {
    /// Adds calls that the message of the page already has.
    pub(super) fn known(&mut self, calls: impl IntoIterator<Item = String>) {
        self.announced.extend(calls);
    }

    /// Sends a call of the model.
    pub(super) fn call(&mut self, call_id: &str, name: &str, arguments: &str, steps: &mut Steps) {
        let (tool_call_id, tool_name) = (call_id.to_owned(), name.to_owned());
        steps.keep(Chunk::ToolInputStart { tool_call_id, tool_name, dynamic: true });
        if !arguments.is_empty() {
            let (tool_call_id, input_text_delta) = (call_id.to_owned(), arguments.to_owned());
            steps.keep(Chunk::ToolInputDelta { tool_call_id, input_text_delta });
        }
        let call = CallInput { name: name.to_owned(), input: parsed(arguments) };
        self.lost.remove(call_id);
        self.step.insert(call_id.to_owned(), call.clone());
        steps.keep(available(call_id, call));
    }

    /// Sends the output of a call. A rejected call was never made: its output has no attempts.
    pub(super) fn output(&mut self, call_id: &str, output: CallOutput<'_>, steps: &mut Steps) {
        let CallOutput { output, attempts, is_failure } = output;
        self.find(call_id, steps);
        let is_rejected = self.rejected.remove(call_id) && attempts == 0;
        let tool_call_id = call_id.to_owned();
        steps.keep(if is_failure {
            let error_text = output.as_str().map_or_else(|| output.to_string(), str::to_owned);
            Chunk::ToolOutputError { tool_call_id, error_text, dynamic: true }
        } else if is_rejected {
            Chunk::ToolOutputDenied { tool_call_id }
        } else {
            Chunk::ToolOutputAvailable { tool_call_id, output: output.clone(), dynamic: true }
        });
    }

    /// Sends the output of a call of a nested agent, if the message has a part for it.
    pub(super) fn nested_output(&mut self, call_id: &str, output: CallOutput<'_>, steps: &mut Steps) {
        let is_it = |announced: &&String| announced.contains('/') && call_id_of(announced) == call_id;
        if let Some(announced) = self.announced.iter().find(is_it).cloned() {
            self.output(&announced, output, steps);
        }
    }

    /// Observes a decision.
    pub(super) fn decided(&mut self, question: &str, decision: &Verdict) {
        let call_id = call_in_message(question);
        if matches!(decision, Verdict::Reject { .. }) {
            self.rejected.insert(call_id);
        } else {
            self.rejected.remove(&call_id);
        }
    }

    /// Sends the requests of the calls that wait. A client tool needs none: its part waits for its
    /// output.
    pub(super) fn paused(&mut self, waiting: &[AgentInterruption], steps: &mut Steps) {
        for interruption in waiting {
            let call_id = call_in_message(&interruption.id);
            if interruption.server.is_some() || interruption.id.contains('/') {
                self.announce(&call_id, interruption, steps);
            }
            self.find(&call_id, steps);
            let (approval_id, tool_call_id) = (interruption.id.clone(), call_id);
            match (interruption.kind, &interruption.question) {
                (InterruptionKind::Approval, _) => {
                    steps.keep(Chunk::ToolApprovalRequest { approval_id, tool_call_id });
                }
                (InterruptionKind::Input, Some(question)) => {
                    let (message, schema) = (&question.message, &question.schema);
                    let data = json!({"toolCallId": tool_call_id, "message": message, "schema": schema});
                    steps.keep(Chunk::data("question", Some(approval_id), data));
                }
                _ => {}
            }
        }
    }

    /// Observes that the step has ended: its parts remain.
    pub(super) fn step_ended(&mut self) {
        self.step.clear();
    }

    /// Observes that the parts of the step were removed.
    pub(super) fn rewind(&mut self) {
        self.lost.append(&mut self.step);
    }

    /// Begins the part of a call that the message does not have.
    fn announce(&mut self, call_id: &str, waiting: &AgentInterruption, steps: &mut Steps) {
        if self.announced.insert(call_id.to_owned()) {
            let call = CallInput { name: waiting.tool.clone(), input: parsed(&waiting.arguments) };
            steps.keep(available(call_id, call));
        }
    }

    /// Begins the part of a call again, if it was removed.
    fn find(&mut self, call_id: &str, steps: &mut Steps) {
        if let Some(call) = self.lost.remove(call_id) {
            self.step.insert(call_id.to_owned(), call.clone());
            steps.keep(available(call_id, call));
        }
    }
}

fn available(call_id: &str, call: CallInput) -> Chunk {
    let CallInput { name: tool_name, input } = call;
    Chunk::ToolInputAvailable { tool_call_id: call_id.to_owned(), tool_name, input, dynamic: true }
}

/// Returns arguments as JSON; as a string if a model made a mistake.
fn parsed(arguments: &str) -> Value {
    match read_arguments(arguments) {
        Ok(members) => members.into(),
        Err(_) => serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into()),
    }
}

/// Returns the id of the part of the call that a question is about: that of the call, for nested
/// agents with the calls on the way.
pub(in crate::http::ai_sdk) fn call_in_message(question: &str) -> String {
    if question.contains('/') { without_number(question).to_owned() } else { call_id_of(question) }
}
