//! From the events of a run to what has ended in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use prost_types::Timestamp;
use serde_json::Value;
use temporal_agents_core::wire::{EventKind, Item, RecordedFailure, RunEvent, Usage};

use super::{
    agents::{Working, is_judge},
    asides::Asides,
    tools::{Called, ToolAttempts},
    writer::{Ended, Writer},
};
use crate::{
    events::{fact_id_at, is_aside},
    trace::{
        attributes::{self, Described},
        ids::SpanId,
    },
};

/// The path of a nested run; empty for the outermost run.
pub(super) type Path = Vec<String>;

/// The part of a run that goes on.
pub(super) struct Reader {
    pub(super) writer: Writer,
    /// Id of the outermost run.
    pub(super) run: String,
    begun: Option<SystemTime>,
    /// Time of the latest event.
    latest: SystemTime,
    has_ended: bool,
    /// The agents that work, by the path of their run.
    pub(super) agents: BTreeMap<Path, Working>,
    /// The model calls, by their ids in facts.
    model_calls: BTreeMap<String, ModelCall>,
    /// The latest answer in each run, until its items have come.
    answered: BTreeMap<Path, Answered>,
    /// The calls in the answers, by the path of their run and their ids.
    pub(super) calls: BTreeMap<(Path, String), Called>,
    /// The attempts at calls of tools, by the ids of the calls in facts.
    pub(super) attempts: BTreeMap<String, ToolAttempts>,
    /// The calls of tools that have failed, whose outputs are messages for the model.
    pub(super) failed: BTreeSet<(Path, String)>,
    /// The effects that no event reports.
    pub(super) asides: Asides,
    /// The questions, by their ids.
    waits: BTreeMap<String, Waiting>,
}

struct ModelCall {
    agent: String,
    turn: u32,
    model: String,
    start: SystemTime,
    /// The current attempt, and the time of its beginning.
    attempt: (u32, SystemTime),
}

struct Answered {
    id: String,
    call: ModelCall,
    at: SystemTime,
    attempts: u32,
    response_id: Option<String>,
    incomplete: Option<String>,
    usage: Usage,
    items: Vec<Item>,
}

struct Waiting {
    start: SystemTime,
    agent: String,
    tool: String,
}

impl Reader {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            writer,
            run: String::new(),
            begun: None,
            latest: SystemTime::UNIX_EPOCH,
            has_ended: false,
            agents: BTreeMap::new(),
            model_calls: BTreeMap::new(),
            answered: BTreeMap::new(),
            calls: BTreeMap::new(),
            attempts: BTreeMap::new(),
            failed: BTreeSet::new(),
            asides: Asides::default(),
            waits: BTreeMap::new(),
        }
    }

    /// Reads the next event.
    pub(super) fn take(&mut self, event: &RunEvent) {
        if self.has_ended {
            return;
        }
        let at = time_of(event);
        self.extend_to((at, at));
        self.run.clone_from(&event.run);
        let item = match &event.kind {
            EventKind::Message { item, .. }
            | EventKind::Reasoning { item }
            | EventKind::ToolCall { item, .. }
            | EventKind::OtherItem { item } => Some(item),
            _ => None,
        };
        match (item, self.answered.get_mut(&event.path)) {
            (Some(item), Some(answered)) => answered.items.push(item.clone()),
            (None, Some(_)) if !event.is_delta() => self.answer(&event.path),
            _ => {}
        }
        if let Some(agent) = self.agents.get_mut(&event.path) {
            agent.latest = agent.latest.max(at);
        }
        if !event.is_delta() && !matches!(event.kind, EventKind::GuardrailTripped { .. }) {
            self.continues();
        }
        match &event.kind {
            EventKind::ModelCallScheduled { model } => self.model_scheduled(event, model, at),
            EventKind::AttemptDelta { effect, attempt, failure, .. } => {
                self.attempt(event, effect, *attempt, failure.as_ref(), at);
            }
            EventKind::ModelCallAnswered { attempts, response_id, incomplete, usage, .. } => {
                if let Some((id, call)) = self.model_call(event.id.strip_suffix("/answered")) {
                    let (response_id, incomplete) = (response_id.clone(), incomplete.clone());
                    let (attempts, usage, items) = (*attempts, usage.clone(), Vec::new());
                    let answered = Answered { id, call, at, attempts, response_id, incomplete, usage, items };
                    self.answered.insert(event.path.clone(), answered);
                }
            }
            EventKind::ModelCallFailed { attempts, failure, .. } => {
                if let Some((id, call)) = self.model_call(event.id.strip_suffix("/failed")) {
                    let chat = self.chat((*attempts).max(call.attempt.0), &call.model);
                    self.model(&event.path, &id, &call, *attempts, at, chat, Some(failure), Vec::new());
                }
            }
            EventKind::ToolCall { call_id, name, arguments, .. } => self.called(event, call_id, name, arguments, at),
            EventKind::ToolOutput { call_id, name, output, attempts, .. } => {
                self.tool_answered(event, (call_id, name), output, *attempts, at);
            }
            // The output of a call without attempts ends its span.
            EventKind::ToolFailed { attempts: 0, .. } => {}
            EventKind::ToolFailed { call_id, name, attempts, failure, .. } => {
                self.tool_failed(event, (call_id, name), *attempts, failure, at);
            }
            EventKind::QuestionAsked { question_id, asked_by, tool, .. } => {
                let (agent, tool) = (asked_by.clone(), tool.clone());
                self.waits.insert(question_id.clone(), Waiting { start: at, agent, tool });
            }
            EventKind::QuestionDecided { question_id, decision, .. } => {
                let Some(Waiting { start, agent, tool }) = self.waits.remove(question_id) else { return };
                let execution = self.writer.execution(&self.run);
                let described = attributes::wait(&execution, &agent, &tool, Some(attributes::verdict(decision)));
                let id = execution.wait(&self.run, question_id);
                self.end(described, id, Some(self.agent_of(&event.path)), (start, at), None, Vec::new());
            }
            EventKind::GuardrailTripped { guardrail, tool, .. } => {
                self.tripped(&event.path, guardrail, tool.as_deref(), at);
            }
            EventKind::RunFinished { .. } if event.path.is_empty() => self.finish(at, None, false),
            EventKind::RunFailed { failure, .. } if event.path.is_empty() => self.finish(at, Some(failure), false),
            EventKind::RunCancelled { .. } if event.path.is_empty() => {
                self.finish(at, Some(&RecordedFailure::new("Cancelled", "")), false);
            }
            _ => {}
        }
    }

    /// Extends the time of the run to this interval.
    pub(super) fn extend_to(&mut self, (since, until): (SystemTime, SystemTime)) {
        self.begun = Some(self.begun.map_or(since, |begun| begun.min(since)));
        self.latest = self.latest.max(until);
    }

    fn model_scheduled(&mut self, event: &RunEvent, model: &str, at: SystemTime) {
        self.works(&event.path, &event.agent, at);
        let (agent, model) = (event.agent.clone(), model.to_owned());
        let call = ModelCall { agent, turn: event.turn, model, start: at, attempt: (1, at) };
        self.model_calls.insert(event.id.clone(), call);
    }

    fn attempt(
        &mut self,
        event: &RunEvent,
        effect: &str,
        attempt: u32,
        failure: Option<&RecordedFailure>,
        at: SystemTime,
    ) {
        if is_aside(effect) {
            return;
        }
        let id = fact_id_at(&event.run, &event.path, effect);
        let Some(call) = self.model_calls.get_mut(&id) else {
            return self.tool_attempt(event, id, attempt, failure, at);
        };
        let Some(failure) = failure else {
            call.attempt = (attempt, at);
            return;
        };
        let (began, model) = (call.attempt.1, call.model.clone());
        let (described, ids) = (self.chat(attempt, &model), self.call_ids(&id, attempt));
        self.end(described, ids.1, Some(ids.0), (began, at), Some(failure), Vec::new());
    }

    /// Removes the model call with this id, or the latest repetition of it.
    fn model_call(&mut self, id: Option<&str>) -> Option<(String, ModelCall)> {
        let id = id?;
        let is_it =
            |other: &str| other.strip_prefix(id).is_some_and(|rest| rest.is_empty() || rest.starts_with("-again"));
        let id = self.model_calls.keys().rfind(|other| is_it(other))?.clone();
        self.model_calls.remove_entry(&id)
    }

    /// Ends the call that the latest answer of a run belongs to.
    pub(super) fn answer(&mut self, path: &Path) {
        let Some(answered) = self.answered.remove(path) else { return };
        let Answered { id, call, at, attempts, response_id, incomplete, usage, items } = answered;
        let chat = self.chat(attempts.max(call.attempt.0), &call.model);
        let ends = (response_id.as_deref(), incomplete.as_deref());
        let chat = attributes::answered(chat, &items, ends, &usage);
        let output = items.iter().map(Item::to_value).collect::<Value>();
        self.model(path, &id, &call, attempts, at, chat, None, vec![("gen_ai.output.messages", output)]);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a call that has ended")]
    fn model(
        &self,
        path: &Path,
        id: &str,
        call: &ModelCall,
        attempts: u32,
        at: SystemTime,
        chat: Described,
        failure: Option<&RecordedFailure>,
        content: Vec<(&'static str, Value)>,
    ) {
        let attempts = attempts.max(call.attempt.0);
        let (of_call, of_attempt) = self.call_ids(id, attempts);
        self.end(chat, of_attempt, Some(of_call), (call.attempt.1, at), failure, content);
        let execution = self.writer.execution(&self.run);
        let described =
            attributes::model_call(&execution, self.writer.activity_id(), &call.agent, call.turn, &call.model)
                .with("temporal_agents.attempts", attempts);
        self.end(described, of_call, Some(self.agent_of(path)), (call.start, at), failure, Vec::new());
    }

    fn chat(&self, attempt: u32, model: &str) -> Described {
        attributes::chat(&self.writer.execution(&self.run), self.writer.activity_id(), attempt, model)
    }

    /// Returns the ids of a call and of an attempt at it.
    pub(super) fn call_ids(&self, id: &str, attempt: u32) -> (SpanId, SpanId) {
        let execution = self.writer.execution(&self.run);
        (execution.call(id), execution.attempt(id, attempt))
    }

    /// Ends the whole run.
    fn finish(&mut self, at: SystemTime, failure: Option<&RecordedFailure>, is_open: bool) {
        self.has_ended = true;
        for path in self.answered.keys().cloned().collect::<Vec<_>>() {
            self.answer(&path);
        }
        // Runs inside others first.
        for path in self.agents.keys().rev().cloned().collect::<Vec<_>>() {
            let last = path.last().map_or("", String::as_str);
            if is_judge(last) {
                self.judged(&path);
            }
            self.nested_ends(&path, at);
            // Other runs inside are those of judges, guardrails and summaries, which have ended.
            let is_open = path.is_empty() || last.contains("-tool-");
            self.rest(&path, Some(at).filter(|_| is_open));
        }
        self.send_all_asides();
        let execution = self.writer.execution(&self.run);
        let begun = self.begun.into_iter().chain(self.asides.since(&Path::new())).min();
        let described = attributes::workflow(&execution, self.writer.name()).open_if(is_open);
        let (root, parent) = (self.writer.root(&self.run), self.writer.parent_of_root());
        self.end(described, root, parent, (begun.unwrap_or(at), at), failure, Vec::new());
    }

    /// Sends a span that has ended.
    pub(super) fn end(
        &self,
        described: Described,
        id: SpanId,
        parent: Option<SpanId>,
        times: (SystemTime, SystemTime),
        failure: Option<&RecordedFailure>,
        content: Vec<(&'static str, Value)>,
    ) {
        self.writer.send(&self.run, Ended { described, id, parent, times, failure, content });
    }
}

impl Drop for Reader {
    /// Sends what a run has that pauses, or whose future was dropped.
    fn drop(&mut self) {
        if self.begun.is_some() && !self.has_ended {
            self.finish(self.latest, None, true);
        }
    }
}

fn time_of(event: &RunEvent) -> SystemTime {
    let time = event.time.parse::<Timestamp>().ok().and_then(|time| SystemTime::try_from(time).ok());
    time.unwrap_or_else(SystemTime::now)
}
