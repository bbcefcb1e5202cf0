//! A run at a glance: a timeline as an SVG image, with a lane for each agent.
//!
//! | file | what is in it |
//! |---|---|
//! | here | the bars and lanes, read from a transcript |
//! | `facts.rs` | the same, read from the facts of a run |
//! | `scale.rs` | the place of a time on the image |
//! | `svg.rs` | the image |
//!
//! # Design
//! **Waits are short.** A run can wait for weeks between two calls that take seconds, so a time in
//! which nothing but a wait goes on is drawn with a bounded width, and marked.
//!
//! **An image has a size that a browser draws.** It has the latest calls of a run, at most
//! [`MOST_BARS`], on a width that does not grow with their number for ever.
//!
//! **Names only.** The image has names, times and numbers, and no content of messages.

#[cfg(feature = "http")]
mod facts;
mod scale;
mod svg;

#[cfg(feature = "http")]
pub(crate) use facts::FactTimeline;

use std::time::SystemTime;

use super::{
    Transcript,
    shape::{Activity, Run, Status, ToolKind, ToolUse, Turn},
};

/// Most bars of an image: the latest ones.
const MOST_BARS: usize = 1_000;

/// Longest label in characters.
const LONGEST_LABEL: usize = 60;

/// The bars of a run, by lane.
struct Timeline {
    title: String,
    lanes: Vec<Lane>,
    bars: Vec<Bar>,
    /// Handoffs: lane, lane of the other agent, time.
    handoffs: Vec<(usize, usize, SystemTime)>,
    start: SystemTime,
    end: SystemTime,
}

/// An agent of the outermost run, or of runs that are nested as deep.
struct Lane {
    agent: String,
    /// Number of runs that contain the run.
    depth: usize,
}

/// Something that takes time.
struct Bar {
    lane: usize,
    kind: BarKind,
    label: String,
    /// Text that appears over the bar.
    details: String,
    start: SystemTime,
    /// Start of the last attempt: what is before is queue, earlier attempts and their pauses.
    started: Option<SystemTime>,
    /// `None` for what goes on.
    end: Option<SystemTime>,
    attempts: u32,
    has_failed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BarKind {
    Model,
    Tool,
    Guardrail,
    Session,
    Wait,
}

impl BarKind {
    const ALL: [Self; 5] = [Self::Model, Self::Tool, Self::Guardrail, Self::Session, Self::Wait];

    /// Returns the class in the image, and the name in its legend.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Model => ("model", "model call"),
            Self::Tool => ("tool", "tool"),
            Self::Guardrail => ("guard", "guardrail"),
            Self::Session => ("session", "session"),
            Self::Wait => ("wait", "wait for a person"),
        }
    }
}

impl Transcript {
    /// Returns the run as an SVG image: a timeline with a lane for each agent, with calls,
    /// attempts, waits for people and handoffs. It has names and times, and no content.
    pub fn to_svg(&self) -> String {
        svg::draw(Timeline::of(std::slice::from_ref(self)))
    }

    /// Returns the executions of a workflow that has continued as new as one
    /// [image](Self::to_svg), in their order.
    pub fn chain_to_svg(chain: &[Self]) -> String {
        svg::draw(Timeline::of(chain))
    }
}

impl Timeline {
    fn new(title: String) -> Self {
        let start = SystemTime::UNIX_EPOCH;
        Self { title, lanes: Vec::new(), bars: Vec::new(), handoffs: Vec::new(), start, end: start }
    }

    fn of(chain: &[Transcript]) -> Self {
        let times = chain.iter().flat_map(|transcript| [transcript.times.started, transcript.times.ended]);
        let times: Vec<SystemTime> = times.flatten().collect();
        let (start, end) = (times.iter().min().copied(), times.iter().max().copied());
        let title =
            chain.first().map_or_else(String::new, |first| format!("{} {}", first.workflow_type, first.workflow_id));
        let start = start.unwrap_or(SystemTime::UNIX_EPOCH);
        let mut timeline = Self { start, end: end.unwrap_or(start), ..Self::new(title) };
        for run in chain.iter().flat_map(|transcript| &transcript.runs) {
            timeline.run(run);
        }
        timeline
    }

    fn run(&mut self, run: &Run) {
        for turn in &run.turns {
            let lane = self.lane(&turn.agent, depth_of(run));
            self.turn(run, turn, lane);
        }
        let asides = run.guardrails.iter().map(|call| (BarKind::Guardrail, &*call.name, &*call.agent, &call.activity));
        let sessions = run.sessions.iter().map(|call| (BarKind::Session, call.operation, "", &call.activity));
        for (kind, name, agent, activity) in asides.chain(sessions) {
            let agent = run.turns.first().map_or(agent, |turn| &turn.agent);
            let lane = self.lane(agent, depth_of(run));
            self.activity(lane, kind, name, activity, "");
        }
    }

    /// Leaves out what is before the latest bars, and returns the number of bars that it had.
    fn shorten(&mut self, most: usize) -> usize {
        let count = self.bars.len();
        if count > most {
            self.bars.sort_by_key(|bar| bar.start);
            self.bars.drain(..count - most);
            self.start = self.bars.first().map_or(self.start, |bar| bar.start);
            let start = self.start;
            self.handoffs.retain(|(_, _, at)| *at >= start);
        }
        count
    }

    /// Returns the lane of an agent. Runs of it that are nested as deep share one: an agent that is
    /// called in each turn has one lane, not one for each turn.
    fn lane(&mut self, agent: &str, depth: usize) -> usize {
        let is_it = |lane: &Lane| lane.agent == agent && lane.depth == depth;
        self.lanes.iter().position(is_it).unwrap_or_else(|| {
            self.lanes.push(Lane { agent: agent.to_owned(), depth });
            self.lanes.len() - 1
        })
    }

    fn turn(&mut self, run: &Run, turn: &Turn, lane: usize) {
        for call in &turn.calls {
            let usage = call.usage.as_ref().map_or_else(String::new, |usage| {
                format!(", {} tokens in, {} out", usage.input_tokens, usage.output_tokens)
            });
            self.activity(lane, BarKind::Model, &call.model, &call.activity, &format!(", turn {}{usage}", turn.number));
        }
        let answered = turn.calls.iter().filter_map(|call| call.activity.times.ended).max();
        for tool in &turn.tools {
            match &tool.kind {
                ToolKind::Activity { activity } => {
                    self.activity(lane, BarKind::Tool, &tool.name, activity, &format!(", turn {}", turn.number));
                }
                ToolKind::Handoff { to } => {
                    let to = self.lane(to, depth_of(run));
                    if let Some(at) = answered {
                        self.handoffs.push((lane, to, at));
                    }
                }
                ToolKind::Agent { .. } | ToolKind::InWorkflow => {}
            }
            self.wait(lane, tool);
        }
    }

    fn activity(&mut self, lane: usize, kind: BarKind, name: &str, activity: &Activity, more: &str) {
        let Some(start) = activity.times.scheduled else { return };
        let failure = activity.failure.as_ref().map(|failure| &*failure.type_name);
        let has_failed = matches!(activity.status, Status::Failed | Status::TimedOut);
        let span = Span {
            start,
            started: activity.times.started,
            end: activity.times.ended,
            attempts: activity.attempts,
            failure: failure.or(has_failed.then_some("")),
        };
        self.bars.push(Bar { has_failed, ..span.bar(lane, kind, name, more) });
    }

    fn wait(&mut self, lane: usize, tool: &ToolUse) {
        let Some(approval) = &tool.approval else { return };
        let (Some(start), end) = approval.times() else { return };
        self.bars.push(wait_bar(lane, &tool.name, start, end));
    }
}

/// Returns the number of runs that contain a run.
fn depth_of(run: &Run) -> usize {
    run.id.matches("-tool-").count()
}

/// The time of a call, and its end.
struct Span<'s> {
    start: SystemTime,
    started: Option<SystemTime>,
    /// `None` for a call that goes on.
    end: Option<SystemTime>,
    attempts: u32,
    /// Type of the failure; empty if there is none.
    failure: Option<&'s str>,
}

impl Span<'_> {
    fn bar(self, lane: usize, kind: BarKind, name: &str, more: &str) -> Bar {
        let Self { start, started, end, attempts, failure } = self;
        let times = match attempts {
            0 | 1 => String::new(),
            attempts => format!(", {attempts} attempts"),
        };
        let duration = end.and_then(|end| end.duration_since(start).ok());
        let duration = duration.map_or_else(|| "goes on".to_owned(), scale::short);
        let failed = failure.filter(|name| !name.is_empty()).map_or_else(String::new, |name| format!(", {name}"));
        Bar {
            lane,
            kind,
            label: name.chars().take(LONGEST_LABEL).collect(),
            details: format!("{name}, {duration}{times}{failed}{more}"),
            start,
            started,
            end,
            attempts,
            has_failed: failure.is_some(),
        }
    }
}

/// Returns the wait of a call for a person; without an end, it is undecided.
fn wait_bar(lane: usize, tool: &str, start: SystemTime, end: Option<SystemTime>) -> Bar {
    let duration = end.and_then(|end| end.duration_since(start).ok());
    let duration = duration.map_or_else(|| "undecided".to_owned(), scale::short);
    Bar {
        lane,
        kind: BarKind::Wait,
        label: tool.chars().take(LONGEST_LABEL).collect(),
        details: format!("{tool} waits for a person, {duration}"),
        start,
        started: None,
        end,
        attempts: 0,
        has_failed: false,
    }
}

#[cfg(test)]
mod tests;
