//! The effect of each kind of event.

use serde_json::{Value, json};
use temporal_agents_core::wire::{EventKind, Item, RunEvent};

use super::{
    AiSdkMapper, Version,
    calls::CallOutput,
    texts::{Delta, call_of},
};
use crate::http::ai_sdk::chunk::{Chunk, TextKind};

/// Maximum length of the name of an emitted value in bytes.
const MAX_NAME_BYTES: usize = 64;
/// The names of data parts of this crate, which emitted values do not get.
const OWN_NAMES: [&str; 7] = ["agent", "subagent", "attempt", "guardrail", "question", "tool-output", "server-data"];

impl AiSdkMapper {
    /// Maps an event of a run inside the run.
    pub(super) fn nested(&mut self, event: &RunEvent) {
        if let Some(part) = self.subagents.event(event) {
            self.steps.keep(part);
        }
        match &event.kind {
            EventKind::ToolOutput { call_id, output, attempts, is_failure, .. } => {
                let output = CallOutput { output, attempts: *attempts, is_failure: *is_failure };
                self.calls.nested_output(call_id, output, &mut self.steps);
            }
            EventKind::ToolGated { call_id, tool, is_denied, rule, reason } => {
                let mut data = json!({"toolCallId": call_id, "tool": tool, "denied": is_denied, "reason": reason});
                if let Some(rule) = rule {
                    data["rule"] = rule.clone().into();
                }
                self.steps.keep(Chunk::data("tool-gated", None, data));
            }
            EventKind::QuestionDecided { question_id, decision, .. } => self.calls.decided(question_id, decision),
            _ => {}
        }
    }

    /// Maps an event of the run itself.
    pub(super) fn own(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::TurnStarted {} | EventKind::ModelCallScheduled { .. } => self.enter(event.turn),
            EventKind::ModelCallAnswered { attempts, .. } => {
                self.enter(event.turn);
                self.texts.answered(call_of(&event.id), *attempts, &mut self.steps);
            }
            EventKind::Message { text, item } => {
                self.enter(event.turn);
                self.texts.close_reasoning(&event.id, &mut self.steps);
                let refusal = if text.is_empty() { joined(item, "content", "refusal") } else { String::new() };
                let whole = if text.is_empty() { &refusal } else { text };
                self.texts.fact(TextKind::Text, &event.id, whole, &mut self.steps);
            }
            EventKind::Reasoning { item } => {
                self.enter(event.turn);
                self.texts.fact(TextKind::Reasoning, &event.id, &reasoning(item), &mut self.steps);
            }
            EventKind::ToolCall { call_id, name, arguments, .. } => {
                self.enter(event.turn);
                self.calls.call(call_id, name, arguments, &mut self.steps);
            }
            EventKind::ToolOutput { call_id, output, attempts, side_data, is_failure, .. } => {
                let output = CallOutput { output, attempts: *attempts, is_failure: *is_failure };
                self.calls.output(call_id, output, &mut self.steps);
                for shown in side_data.iter().flat_map(|data| data.shown()) {
                    let data = json!({"toolCallId": call_id, "kind": shown.kind, "data": shown.data});
                    self.steps.keep(Chunk::data("server-data", None, data));
                }
            }
            EventKind::Handoff { to, .. } => {
                self.agent.clone_from(to);
                self.steps.keep(Chunk::data("agent", Some("agent".to_owned()), json!({"name": to})));
            }
            EventKind::GuardrailTripped { guardrail, stage, tool, output_info } => {
                let mut data = json!({"guardrail": guardrail, "stage": stage});
                if let Some(tool) = tool {
                    data["tool"] = tool.clone().into();
                }
                if !output_info.is_null() {
                    data["info"] = output_info.clone();
                }
                self.steps.keep(Chunk::data("guardrail", None, data));
            }
            EventKind::ToolGated { call_id, tool, is_denied, rule, reason } => {
                let mut data = json!({"toolCallId": call_id, "tool": tool, "denied": is_denied, "reason": reason});
                if let Some(rule) = rule {
                    data["rule"] = rule.clone().into();
                }
                self.steps.keep(Chunk::data("tool-gated", None, data));
            }
            EventKind::QuestionDecided { question_id, decision, .. } => self.calls.decided(question_id, decision),
            EventKind::RunReset { .. } => self.rewind(),
            EventKind::RunFinished { usage, .. } => self.usage.clone_from(usage),
            _ => self.own_delta(event),
        }
    }

    /// Maps a delta of the run itself.
    fn own_delta(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::AttemptDelta { effect, attempt, .. } if !self.steps.is_past(event.turn) => {
                if let Some(end) = effect.find("-model") {
                    self.texts.attempt(&effect[..end + "-model".len()], *attempt, &mut self.steps);
                }
            }
            EventKind::TextDelta { message_id, attempt, delta } => {
                self.text(event, Delta { kind: TextKind::Text, id: message_id, attempt: *attempt, text: delta });
            }
            EventKind::ReasoningDelta { message_id, attempt, delta } => {
                self.text(event, Delta { kind: TextKind::Reasoning, id: message_id, attempt: *attempt, text: delta });
            }
            EventKind::ToolOutputDelta { call_id, stream, delta, fraction, .. } => {
                let mut data = json!({"toolCallId": call_id, "stream": stream, "delta": delta});
                if let Some(fraction) = fraction {
                    data["fraction"] = Value::from(*fraction);
                }
                self.steps.send(Chunk::transient("tool-output", data));
            }
            EventKind::EmittedDelta { name, value, .. } => {
                self.steps.send(Chunk::transient(&emitted_name(name), value.clone()));
            }
            _ => {}
        }
    }

    fn text(&mut self, event: &RunEvent, delta: Delta<'_>) {
        let is_late = self.steps.is_past(event.turn) || self.facts.contains(delta.id);
        if !is_late && self.texts.accepts(delta, self.steps.version) {
            self.enter(event.turn);
            self.texts.delta(delta, &mut self.steps);
        }
    }

    /// Continues the step with content of this turn, or begins one.
    fn enter(&mut self, turn: u32) {
        if self.steps.begins(turn) {
            self.texts.close_all(&mut self.steps);
            self.calls.step_ended();
        }
        self.steps.enter(turn);
    }

    /// Takes back the step, because the run continues from an earlier event. Earlier steps remain.
    fn rewind(&mut self) {
        self.texts.rewind(&mut self.steps);
        if self.steps.version == Version::V7 {
            self.calls.rewind();
            self.subagents.rewind();
        }
    }
}

/// Returns the text of a reasoning item: its summary, or what it was made of.
fn reasoning(item: &Item) -> String {
    let summary = joined(item, "summary", "text");
    if summary.is_empty() { joined(item, "content", "text") } else { summary }
}

/// Returns the strings in the parts of an item, as paragraphs.
fn joined(item: &Item, list: &str, member: &str) -> String {
    let parts = item.get(list).and_then(Value::as_array).into_iter().flatten();
    parts.filter_map(|part| part[member].as_str()).collect::<Vec<_>>().join("\n\n")
}

/// Returns the name of the data part of an emitted value: lower-case letters, digits and hyphens.
fn emitted_name(name: &str) -> String {
    let allowed = |letter: char| match letter.to_ascii_lowercase() {
        lower @ ('a'..='z' | '0'..='9') => lower,
        _ => '-',
    };
    let name: String = name.chars().take(MAX_NAME_BYTES).map(allowed).collect();
    if name.is_empty() || OWN_NAMES.contains(&&*name) { format!("emitted-{name}") } else { name }
}
