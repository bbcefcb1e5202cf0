//! The mapping of one run's events to events of the protocol.
//!
//! | file | contents |
//! |---|---|
//! | `scope.rs` | the run and its nested runs: steps and subagents |
//! | `streams.rs` | text and reasoning, and the attempts that stream them |
//! | `calls.rs` | tool calls and their results |
//! | `end.rs` | pauses, ends and resets |
//! | `log.rs`, `usage.rs` | the messages and the token usage so far |
//!
//! # Guarantees
//! The events of one mapper are a valid stream, whatever it is fed with: nothing comes before
//! `RUN_STARTED` or after the end, nothing is opened twice, and all that was opened is closed
//! before `RUN_FINISHED`.
//!
//! # Design
//! **Facts decide, deltas only show early.** A message that was streamed is compared with its fact:
//! a missing rest is appended, and a different text is replaced by a snapshot of all messages.
//! Facts that come twice count once.

mod calls;
mod end;
mod log;
mod scope;
mod streams;
mod usage;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use temporal_agents_core::wire::{EventKind, RunEvent};

use self::{calls::Calls, log::MessageLog, scope::Scope, streams::StreamKind, usage::UsageByModel};
use super::{AguiEvent, AguiMessage};

/// The version of the protocol that the events follow.
const PROTOCOL_VERSION: &str = "1.0";

/// Maps the events of one run, and of its nested runs, to events of the protocol.
///
/// The caller reports how the run ends, by [`finished`](Self::finished) or one of the methods
/// beside it: the end of the run's facts has no outcome yet if the run waits.
#[derive(Debug)]
pub(crate) struct AguiMapper {
    thread_id: String,
    run_id: String,
    is_resumed: bool,
    phase: Phase,
    /// The events that the current call returns.
    out: Vec<AguiEvent>,
    /// Workflow and id of the facts so far.
    facts: BTreeSet<(Option<String>, String)>,
    /// The ids of messages and subagents so far: none is used again.
    used_ids: BTreeSet<String>,
    scopes: Vec<Scope>,
    calls: Calls,
    log: MessageLog,
    usage: UsageByModel,
}

/// Progress of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    New,
    Started,
    Over,
}

impl AguiMapper {
    /// Creates a mapper. `is_resumed` is `true` for the run that answers an interrupt: calls that
    /// the frontend's messages contain are not sent again.
    pub(crate) fn new(thread_id: impl Into<String>, run_id: impl Into<String>, is_resumed: bool) -> Self {
        Self {
            thread_id: thread_id.into(),
            run_id: run_id.into(),
            is_resumed,
            phase: Phase::New,
            out: Vec::new(),
            facts: BTreeSet::new(),
            used_ids: BTreeSet::new(),
            scopes: Vec::new(),
            calls: Calls::default(),
            log: MessageLog::default(),
            usage: UsageByModel::default(),
        }
    }

    /// Sets the messages that the frontend has already. Snapshots begin with them, since a snapshot
    /// replaces all messages of the frontend.
    #[must_use]
    pub(crate) fn with_messages(mut self, messages: Vec<AguiMessage>) -> Self {
        self.log.give(messages);
        self
    }

    /// Starts the stream. With a snapshot, it replaces the messages of the frontend.
    pub(crate) fn start(&mut self, snapshot: Option<Vec<AguiMessage>>) -> Vec<AguiEvent> {
        if self.phase == Phase::New {
            self.begin();
            if let Some(messages) = snapshot {
                self.log.give(messages);
                self.snapshot();
            }
        }
        self.take()
    }

    /// Returns the events of an event of the run or of one of its nested runs.
    pub(crate) fn event(&mut self, event: &RunEvent) -> Vec<AguiEvent> {
        if self.is_over() {
            return Vec::new();
        }
        self.begin();
        if self.is_new(event)
            && let Some(scope) = self.enter(event)
        {
            self.map(scope, event);
        }
        self.take()
    }

    /// Returns `true` if the stream has ended: no event follows.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    fn map(&mut self, scope: usize, event: &RunEvent) {
        match &event.kind {
            EventKind::ModelCallScheduled { model } => self.model_scheduled(scope, event.turn, model),
            EventKind::ModelCallAnswered { attempts, usage, .. } => {
                self.usage.add(&self.scopes[scope].model, usage);
                self.model_answered(scope, event.turn, *attempts);
            }
            EventKind::ModelCallFailed { .. } => self.model_failed(scope, event.turn),
            EventKind::Message { text, item } => {
                let text = format!("{text}{}", item.refusal().unwrap_or_default());
                self.item(scope, event, StreamKind::Text, &text);
            }
            EventKind::Reasoning { item } => {
                self.item(scope, event, StreamKind::Reasoning, &streams::reasoning_text(item));
            }
            EventKind::ToolCall { call_id, name, arguments, item: _ } => {
                self.tool_call(scope, event.turn, call_id, name, arguments);
            }
            EventKind::ToolOutput { call_id, output, side_data, is_failure, .. } => {
                self.tool_output(scope, &event.id, call_id, output, *is_failure);
                for data in side_data.iter().flat_map(|data| data.shown()) {
                    let tool_call_id = self.tool_call_id(scope, call_id);
                    let value = json!({"toolCallId": tool_call_id, "kind": data.kind, "data": data.data});
                    self.custom(scope, "server_data", value);
                }
            }
            EventKind::Handoff { from: _, to } => self.change_agent(scope, to),
            EventKind::GuardrailTripped { guardrail, stage, tool, output_info } => {
                let info = Some(output_info).filter(|info| !info.is_null());
                let value = [
                    ("guardrail", Some(json!(guardrail))),
                    ("stage", Some(json!(stage))),
                    ("tool", tool.as_ref().map(|tool| json!(tool))),
                    ("outputInfo", info.cloned()),
                ];
                self.custom(scope, "guardrail", object(value));
            }
            EventKind::ToolGated { call_id, tool, is_denied, rule, reason } => {
                let tool_call_id = self.tool_call_id(scope, call_id);
                let value = [
                    ("toolCallId", Some(json!(tool_call_id))),
                    ("tool", Some(json!(tool))),
                    ("denied", Some(json!(is_denied))),
                    ("rule", rule.as_ref().map(|rule| json!(rule))),
                    ("reason", Some(json!(reason))),
                ];
                self.custom(scope, "tool_gated", object(value));
            }
            EventKind::AttemptDelta { effect, attempt, failure, .. } => {
                if let Some(turn) = streams::turn_of(effect).filter(|_| failure.is_none()) {
                    self.is_latest_attempt(scope, turn, *attempt);
                }
            }
            EventKind::TextDelta { message_id, attempt, delta } => {
                self.delta(scope, event.turn, StreamKind::Text, (message_id, *attempt, delta));
            }
            EventKind::ReasoningDelta { message_id, attempt, delta } => {
                self.delta(scope, event.turn, StreamKind::Reasoning, (message_id, *attempt, delta));
            }
            EventKind::ToolOutputDelta { call_id, name, attempt, stream, delta, fraction } => {
                let value = [
                    ("toolCallId", Some(json!(self.tool_call_id(scope, call_id)))),
                    ("toolName", Some(json!(name))),
                    ("attempt", Some(json!(attempt))),
                    ("stream", Some(json!(stream))),
                    ("delta", Some(json!(delta))),
                    ("fraction", fraction.map(|fraction| json!(fraction))),
                ];
                self.custom(scope, "tool_output", object(value));
            }
            EventKind::EmittedDelta { call_id, attempt, name, value } => {
                let tool_call_id = self.tool_call_id(scope, call_id);
                let value = json!({"toolCallId": tool_call_id, "attempt": attempt, "value": value});
                self.custom(scope, name, value);
            }
            EventKind::RunReset { reason, .. } => self.reset(scope, reason),
            EventKind::RunFinished { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. }
            | EventKind::RunTerminated { .. }
            | EventKind::RunTimedOut {} => self.run_ended(scope, &event.kind),
            // The arguments of a call are sent with its fact, which alone has the name of the tool.
            EventKind::ToolArgumentsDelta { .. }
            // An output follows, which is marked.
            | EventKind::ToolFailed { .. }
            // The caller reports the pause of the run.
            | EventKind::RunPaused {}
            | EventKind::QuestionAsked { .. }
            | EventKind::QuestionDecided { .. }
            | EventKind::RunStarted { .. }
            | EventKind::RunResumed {}
            | EventKind::RunContinued { .. }
            | EventKind::TurnStarted {}
            | EventKind::OtherItem { .. }
            | EventKind::Compaction { .. }
            | EventKind::ChatMessageDelta { .. }
            | EventKind::Other { .. } => {}
        }
    }

    /// Sends the first event, unless it was sent.
    fn begin(&mut self) {
        if self.phase == Phase::New {
            self.phase = Phase::Started;
            let (thread_id, run_id) = (self.thread_id.clone(), self.run_id.clone());
            self.out.push(AguiEvent::RunStarted { thread_id, run_id, protocol_version: PROTOCOL_VERSION });
        }
    }

    fn take(&mut self) -> Vec<AguiEvent> {
        std::mem::take(&mut self.out)
    }

    /// Returns `false` for a fact that was mapped before.
    fn is_new(&mut self, event: &RunEvent) -> bool {
        event.is_delta() || event.id.is_empty() || self.facts.insert((event.workflow.clone(), event.id.clone()))
    }

    /// Returns an id that was not used before: this one, if possible, otherwise with a number from
    /// `number` on.
    fn fresh_id(&mut self, id: &str, number: u32) -> String {
        let numbered = (number.max(2)..=u32::MAX).map(|number| format!("{id}#{number}"));
        let is_free = |id: &String| !self.used_ids.contains(id);
        let free = std::iter::once(id.to_owned()).chain(numbered).find(is_free).unwrap_or_else(|| id.to_owned());
        self.used_ids.insert(free.clone());
        free
    }

    fn snapshot(&mut self) {
        self.out.push(AguiEvent::MessagesSnapshot { messages: self.log.all() });
    }

    fn custom(&mut self, scope: usize, name: &str, value: Value) {
        let subagent_run_id = self.owner(scope);
        self.out.push(AguiEvent::Custom { name: name.to_owned(), value, subagent_run_id });
    }
}

/// Returns the object of the members that are present.
fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests;
