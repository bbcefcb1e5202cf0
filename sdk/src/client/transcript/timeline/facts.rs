//! The bars and lanes of a run, read from its facts: for runs that have no history, those of a
//! process and those of which only rows are left.
//!
//! Facts have the beginning and the end of a call, and the number of its last attempt, but neither
//! the start of that attempt nor the reads and writes of sessions.

use std::{collections::BTreeMap, time::SystemTime};

use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{Bar, BarKind, Span, Timeline, svg, wait_bar};

/// The timeline of a run, from the facts so far.
pub(crate) struct FactTimeline {
    timeline: Timeline,
    /// The model calls that were scheduled, by run.
    models: BTreeMap<String, Call>,
    /// The calls of tools that have no output, by run and id.
    tools: BTreeMap<(String, String), Call>,
    /// The questions that are open, by id.
    questions: BTreeMap<String, Call>,
    /// Time of the latest fact.
    latest: Option<SystemTime>,
}

/// The end of a call.
struct End<'e> {
    at: SystemTime,
    attempts: u32,
    /// Type of the failure.
    failure: Option<&'e str>,
}

/// A call that has begun.
struct Call {
    lane: usize,
    name: String,
    start: SystemTime,
    turn: u32,
}

impl FactTimeline {
    /// Returns a timeline with this title and no facts.
    pub(crate) fn new(title: String) -> Self {
        let timeline = Timeline::new(title);
        let (models, tools, questions) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { timeline, models, tools, questions, latest: None }
    }

    /// Adds a fact; deltas change nothing.
    pub(crate) fn observe(&mut self, event: &RunEvent) {
        let Some(at) = time_of(&event.time).filter(|_| !event.is_delta()) else { return };
        if self.latest.is_none() {
            self.timeline.start = at;
        }
        self.latest = self.latest.max(Some(at));
        let run = event.path.join("/");
        match &event.kind {
            EventKind::ModelCallScheduled { model } => {
                let call = self.call(event, model, at);
                self.models.insert(run, call);
            }
            EventKind::ModelCallAnswered { attempts, usage, .. } => {
                let usage = format!(", {} tokens in, {} out", usage.input_tokens, usage.output_tokens);
                let call = self.models.remove(&run);
                self.ended(call, BarKind::Model, &End { at, attempts: *attempts, failure: None }, &usage);
            }
            EventKind::ModelCallFailed { attempts, failure, .. } => {
                let call = self.models.remove(&run);
                let end = End { at, attempts: *attempts, failure: Some(&failure.type_name) };
                self.ended(call, BarKind::Model, &end, "");
            }
            EventKind::ToolCall { call_id, name, .. } => {
                let call = self.call(event, name, at);
                self.tools.insert((run, call_id.clone()), call);
            }
            EventKind::ToolOutput { call_id, attempts, .. } => {
                let call = self.tools.remove(&(run, call_id.clone()));
                // A call without attempts is a handoff, an agent, or a function of the workflow.
                let call = call.filter(|_| *attempts > 0);
                self.ended(call, BarKind::Tool, &End { at, attempts: *attempts, failure: None }, "");
            }
            EventKind::ToolFailed { call_id, attempts, failure, .. } => {
                let call = self.tools.remove(&(run, call_id.clone())).filter(|_| *attempts > 0);
                let end = End { at, attempts: *attempts, failure: Some(&failure.type_name) };
                self.ended(call, BarKind::Tool, &end, "");
            }
            EventKind::QuestionAsked { question_id, tool, .. } => {
                let call = self.call(event, tool, at);
                self.questions.insert(question_id.clone(), call);
            }
            EventKind::QuestionDecided { question_id, .. } => {
                let Some(asked) = self.questions.remove(question_id) else { return };
                // The call begins when it may.
                let waited = |call: &&mut Call| call.lane == asked.lane && call.name == asked.name;
                if let Some(call) = self.tools.values_mut().find(waited) {
                    call.start = call.start.max(at);
                }
                self.timeline.bars.push(wait_bar(asked.lane, &asked.name, asked.start, Some(at)));
            }
            EventKind::Handoff { from, to } => {
                let (from, to) = (self.lane(event, from), self.lane(event, to));
                self.timeline.handoffs.push((from, to, at));
            }
            _ => {}
        }
    }

    /// Returns `true` if there is something to draw.
    pub(crate) fn has_calls(&self) -> bool {
        !self.timeline.lanes.is_empty()
    }

    /// Returns the image; `is_open` if the run goes on.
    pub(crate) fn into_svg(mut self, is_open: bool) -> String {
        self.timeline.end = self.latest.unwrap_or(self.timeline.start);
        if is_open {
            for (_, asked) in std::mem::take(&mut self.questions) {
                self.tools.retain(|_, call| call.lane != asked.lane || call.name != asked.name);
                self.timeline.bars.push(wait_bar(asked.lane, &asked.name, asked.start, None));
            }
            let models = std::mem::take(&mut self.models).into_values().map(|call| (BarKind::Model, call));
            let tools = std::mem::take(&mut self.tools).into_values().map(|call| (BarKind::Tool, call));
            let open: Vec<(BarKind, Call)> = models.chain(tools).collect();
            self.timeline.bars.extend(open.into_iter().map(|(kind, call)| bar(&call, kind, None, "")));
        }
        svg::draw(self.timeline)
    }

    fn call(&mut self, event: &RunEvent, name: &str, start: SystemTime) -> Call {
        Call { lane: self.lane(event, &event.agent), name: name.to_owned(), start, turn: event.turn }
    }

    fn lane(&mut self, event: &RunEvent, agent: &str) -> usize {
        // A child workflow is as deep as the call that started it.
        self.timeline.lane(agent, event.path.len() + usize::from(event.workflow.is_some()))
    }

    fn ended(&mut self, call: Option<Call>, kind: BarKind, end: &End<'_>, more: &str) {
        self.timeline.bars.extend(call.map(|call| bar(&call, kind, Some(end), more)));
    }
}

fn bar(call: &Call, kind: BarKind, end: Option<&End<'_>>, more: &str) -> Bar {
    Span {
        start: call.start,
        started: None,
        end: end.map(|end| end.at),
        attempts: end.map_or(0, |end| end.attempts),
        failure: end.and_then(|end| end.failure),
    }
    .bar(call.lane, kind, &call.name, &format!(", turn {}{more}", call.turn))
}

fn time_of(text: &str) -> Option<SystemTime> {
    SystemTime::try_from(text.parse::<prost_types::Timestamp>().ok()?).ok()
}
