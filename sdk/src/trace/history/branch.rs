//! The spans of one execution: its agents, and what they call.

use std::{collections::BTreeMap, time::SystemTime};

use serde_json::Value;
use temporal_agents_core::wire::{Item, RecordedFailure, event::TrippedGuardrail};

use super::{Part, places::Places, tree::Tree};
use crate::{
    client::transcript::{
        Activity, Call, GuardrailCall, McpListing, Run, Status, Times, ToolKind, ToolUse, Transcript, Tripped, Turn,
    },
    events::Place,
    trace::{
        attributes::{self, Described, content},
        ids::{Execution, SpanId},
    },
};

/// The spans of one execution.
pub(super) struct Branch<'t> {
    pub(super) execution: Execution<'t>,
    pub(super) transcript: &'t Transcript,
    pub(super) places: Places,
    /// Time of the last event.
    pub(super) end: SystemTime,
    pub(super) part: Part<'t>,
    /// The agents of each run, with the times of their work.
    pub(super) agents: BTreeMap<&'t str, Vec<Segment>>,
}

/// The work of an agent in a run, from its first turn to its handoff, or the end.
pub(super) struct Segment {
    id: SpanId,
    start: SystemTime,
}

impl<'t> Branch<'t> {
    /// Adds the spans of the execution.
    pub(super) fn add_to(mut self, tree: &mut Tree<'t>) {
        // A run is listed after the run that contains it.
        for run in &self.transcript.runs {
            if self.places.trace_of(run.trace.as_ref()) == Some(tree.trace) {
                tree.settings = run.trace.as_ref();
                let before = tree.spans.len();
                // The agents of a run that is not wanted may be parents, too.
                self.run(run, tree);
                if !self.part.has_run(&run.id) {
                    tree.spans.truncate(before);
                }
            }
        }
        for tripped in &self.transcript.tripped {
            if self.part.has_run(&tripped.run) && self.places.trace_of(tripped.trace.as_ref()) == Some(tree.trace) {
                tree.settings = tripped.trace.as_ref();
                self.tripped(tripped, tree);
            }
        }
    }

    /// Adds a guardrail that has tripped. One in an activity has a span already, as has one of a
    /// run inside whose failure ends this run.
    fn tripped(&self, trip: &'t Tripped, tree: &mut Tree<'t>) {
        let Tripped { run, guardrail: TrippedGuardrail { name, tool, .. }, at: Some(at), trace: _ } = trip else {
            return;
        };
        let of_run = self.transcript.runs.iter().find(|other| other.id == *run);
        let has_tripped = |call: &GuardrailCall| call.name == *name && triggered(call) == Some(true);
        let latest = of_run.and_then(|run| run.turns.iter().flat_map(times_of).max());
        let is_repeated = |other: &Tripped| {
            let is_last = other.at.is_some_and(|at| latest.is_none_or(|latest| latest <= at));
            other.run != *run && is_inside(&other.run, run) && other.guardrail.name == *name && is_last
        };
        if of_run.is_some_and(|run| run.guardrails.iter().any(has_tripped))
            || self.transcript.tripped.iter().any(is_repeated)
        {
            return;
        }
        let described = attributes::tripped(&self.execution, name, tool.as_deref());
        let mut around = std::iter::successors(Some(&**run), |run| Place::parent(run));
        let parent = around.find_map(|run| self.agent_at(run, *at)).unwrap_or_else(|| self.execution.workflow());
        tree.add(described, self.execution.tripped(run), Some(parent), (*at, *at), None);
    }

    fn run(&mut self, run: &'t Run, tree: &mut Tree<'t>) {
        // Guardrails, sessions and summaries belong to the agent that begins or ends with them.
        let all = self.times_of_run(run);
        let (start, last_end) = (all.iter().min().copied().unwrap_or(self.end), all.iter().max().copied());
        let mut parent = self.parent_of(run, start);
        if let Some((of, turn, index)) = Place::judged(&run.id) {
            let described = attributes::judge(&self.execution, self.judged(of, turn, index));
            let is_open = run.turns.iter().any(is_pending);
            let described = described.open_if(is_open);
            let end = last_end.filter(|_| !is_open).unwrap_or(self.end);
            let judge = self.execution.call(&run.id);
            tree.add(described, judge, Some(parent), (start, end), None);
            parent = judge;
        }
        let mut segments: Vec<Segment> = Vec::new();
        let mut turns = run.turns.iter().peekable();
        while let Some(first) = turns.next() {
            let mut of_agent = vec![first];
            while let Some(next) = turns.next_if(|next| next.agent == first.agent) {
                of_agent.push(next);
            }
            let is_last = turns.peek().is_none();
            let mut times: Vec<SystemTime> = of_agent.iter().flat_map(|turn| times_of(turn)).collect();
            if segments.is_empty() {
                times.push(start);
            }
            let lists: Vec<_> =
                run.mcp_lists.iter().filter(|list| of_agent.iter().any(|turn| turn.number == list.turn)).collect();
            times.extend(lists.iter().flat_map(|list| times_of_activity(&list.activity)));
            if is_last {
                times.extend(last_end);
            }
            let start = times.iter().min().copied().unwrap_or(start);
            // Work that goes on ends, for now, with the latest event.
            let is_open = is_last && of_agent.iter().any(|turn| is_pending(turn));
            let end = if is_open { self.end } else { times.iter().max().copied().unwrap_or(start) };
            let id = self.execution.agent(&run.id, segments.len());
            let described = attributes::agent(&self.execution, &first.agent).open_if(is_open);
            tree.add(described, id, Some(parent), (start, end), None);
            segments.push(Segment { id, start });
            for list in lists {
                self.mcp_list(list, id, tree);
            }
            for turn in of_agent {
                self.turn(run, turn, id, tree);
            }
        }
        self.agents.insert(&run.id, segments);
        let agent = |at: Option<SystemTime>| self.agent_at(&run.id, at.unwrap_or(start)).unwrap_or(parent);
        // The model was not called after these.
        for list in run.mcp_lists.iter().filter(|list| run.turns.iter().all(|turn| turn.number != list.turn)) {
            self.mcp_list(list, agent(list.activity.times.scheduled), tree);
        }
        self.asides(run, agent, tree);
    }

    /// Adds the guardrails in activities, and the calls of session stores; `agent` returns the
    /// parent at a time.
    fn asides(&self, run: &'t Run, agent: impl Fn(Option<SystemTime>) -> SpanId, tree: &mut Tree<'t>) {
        let guardrails = run.guardrails.iter().map(|call| {
            let described = attributes::guardrail(&self.execution, &call.activity.id, &call.name, triggered(call));
            (&call.activity, described)
        });
        let sessions = run
            .sessions
            .iter()
            .map(|call| (&call.activity, attributes::session(&self.execution, &call.activity.id, call.operation)));
        for (activity, described) in guardrails.chain(sessions) {
            let parent = agent(activity.times.scheduled);
            if let Some(times) = times_of_call(activity) {
                tree.add(described, self.execution.call(&activity.id), Some(parent), times, failure_of(activity));
            }
        }
    }

    /// Returns the times at which something of a run, or of one inside it, begins or ends.
    pub(super) fn times_of_run(&self, run: &Run) -> Vec<SystemTime> {
        let runs = self.transcript.runs.iter().filter(|other| is_inside(&other.id, &run.id));
        let trips = self.transcript.tripped.iter().filter(|trip| is_inside(&trip.run, &run.id));
        let of_run = |run: &Run| {
            let sessions = run.sessions.iter().map(|call| &call.activity);
            let lists = run.mcp_lists.iter().map(|list| &list.activity);
            let asides = run.guardrails.iter().map(|call| &call.activity).chain(sessions).chain(lists);
            let asides = asides.flat_map(times_of_activity);
            run.turns.iter().flat_map(times_of).chain(asides).collect::<Vec<_>>()
        };
        runs.flat_map(of_run).chain(trips.filter_map(|trip| trip.at)).collect()
    }

    /// Returns the parent of a run's agents: the call that runs it, the agent that works meanwhile,
    /// or the workflow.
    fn parent_of(&self, run: &Run, start: SystemTime) -> SpanId {
        let is_call = |tool: &ToolUse| matches!(&tool.kind, ToolKind::Agent { run: called } if *called == run.id);
        let mut tools = self.transcript.runs.iter().flat_map(|run| &run.turns).flat_map(|turn| &turn.tools);
        if tools.any(is_call) {
            return self.execution.call(&run.id);
        }
        let parent = run.parent.as_deref().and_then(|parent| self.agent_at(parent, start));
        parent.unwrap_or_else(|| self.execution.workflow())
    }

    /// Returns the name and the id of a call, by its index among the calls that are no handoffs.
    fn judged(&self, run: &str, turn: u32, index: u32) -> Option<(&'t str, &'t str)> {
        let run = self.transcript.runs.iter().find(|other| other.id == run)?;
        let turn = run.turns.iter().find(|other| other.number == turn)?;
        let mut calls = turn.tools.iter().filter(|tool| !tool.is_handoff());
        calls.nth(usize::try_from(index).ok()?).map(|call| (&*call.name, &*call.call_id))
    }

    /// Returns the agent of this run that works at this time.
    fn agent_at(&self, run: &str, time: SystemTime) -> Option<SpanId> {
        let segments = self.agents.get(run)?;
        let begun = segments.iter().rfind(|segment| segment.start <= time);
        Some(begun.or(segments.first())?.id)
    }

    fn turn(&self, run: &Run, turn: &Turn, agent: SpanId, tree: &mut Tree<'t>) {
        for call in &turn.calls {
            self.model(turn, call, agent, tree);
        }
        let answered = turn.calls.iter().filter_map(|call| call.activity.times.ended).max();
        let mut index = 0;
        for tool in &turn.tools {
            let id = format!("{}-{}-tool-{index}", run.id, turn.number);
            if !tool.is_handoff() {
                index += 1;
            }
            self.tool(run, turn, tool, (agent, &id), answered, tree);
        }
    }

    fn mcp_list(&self, list: &McpListing, agent: SpanId, tree: &mut Tree<'t>) {
        let (McpListing { server, activity, .. }, execution) = (list, &self.execution);
        let Some(times) = times_of_call(activity) else { return };
        let id = execution.call(&activity.id);
        let described = retried(attributes::mcp_list(execution, &activity.id, server), activity);
        tree.add(described, id, Some(agent), times, failure_of(activity));
        let Some(times) = tree.times_of_attempt(activity) else { return };
        let described = attributes::mcp_list_attempt(execution, &activity.id, activity.attempts, server);
        let attempt = execution.attempt(&activity.id, activity.attempts);
        tree.add(described, attempt, Some(id), times, failure_of(activity));
    }

    fn model(&self, turn: &Turn, call: &Call, agent: SpanId, tree: &mut Tree<'t>) {
        let (activity, execution) = (&call.activity, &self.execution);
        let Some(times) = times_of_call(activity) else { return };
        let id = execution.call(&activity.id);
        let described = attributes::model_call(execution, &activity.id, &turn.agent, turn.number, &call.model);
        let described = retried(described, activity);
        tree.add(described, id, Some(agent), times, failure_of(activity));
        let Some(times) = tree.times_of_attempt(activity) else { return };
        let described = attributes::chat(execution, &activity.id, activity.attempts, &call.model);
        let described = match &call.usage {
            Some(usage) => attributes::answered(
                described,
                &call.output,
                (call.response_id.as_deref(), call.incomplete.as_deref()),
                usage,
            ),
            None => described,
        };
        let (attempt, is_captured) = (execution.attempt(&activity.id, activity.attempts), tree.is_captured());
        let span = tree.add(described, attempt, Some(id), times, failure_of(activity));
        let output = is_captured.then(|| call.output.iter().map(Item::to_value).collect::<Value>());
        content(span, is_captured, "gen_ai.output.messages", output.as_ref());
    }
}

/// Returns the verdict of a guardrail: a member of a `GuardrailOutput` or of a `ToolGuardrailOutput`.
fn triggered(call: &GuardrailCall) -> Option<bool> {
    let output = call.output.as_ref()?;
    let raises = || Some(output.get("behavior")?.get("type")? == "raise_exception");
    output.get("tripwire_triggered").map_or_else(raises, Value::as_bool)
}

/// Returns `true` if a run is another one, or inside it.
pub(super) fn is_inside(run: &str, other: &str) -> bool {
    run.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Adds the queue time of the last attempt, and the failure of the one before.
pub(super) fn retried(described: Described, activity: &Activity) -> Described {
    let Times { scheduled, started, .. } = activity.times;
    let waited = scheduled.zip(started).and_then(|(scheduled, started)| started.duration_since(scheduled).ok());
    described
        .with("temporal_agents.attempts", activity.attempts)
        .maybe("temporal_agents.started_after_seconds", waited.map(|waited| waited.as_secs_f64()))
        .maybe("temporal_agents.earlier_failure", activity.earlier_failure.as_ref().map(|failure| &*failure.type_name))
}

pub(super) fn failure_of(activity: &Activity) -> Option<&RecordedFailure> {
    activity.failure.as_ref()
}

/// Returns the times of a call that has ended.
pub(super) fn times_of_call(activity: &Activity) -> Option<(SystemTime, SystemTime)> {
    activity.times.scheduled.zip(activity.times.ended)
}

/// Returns the times at which something of a turn begins or ends.
fn times_of(turn: &Turn) -> Vec<SystemTime> {
    let activities = turn.calls.iter().map(|call| &call.activity).chain(turn.tools.iter().filter_map(activity_of));
    let of_activities = activities.flat_map(times_of_activity);
    let approvals = turn.tools.iter().filter_map(|tool| tool.approval.as_ref());
    let of_waits = approvals.flat_map(|approval| <[_; 2]>::from(approval.times()));
    let children = turn.tools.iter().filter_map(|tool| tool.child);
    let of_children = children.flat_map(|times| [times.scheduled, times.ended]);
    of_activities.chain(of_waits.flatten()).chain(of_children.flatten()).collect()
}

/// Returns the times at which an activity begins and ends.
fn times_of_activity(activity: &Activity) -> impl Iterator<Item = SystemTime> + use<> {
    [activity.times.scheduled, activity.times.ended].into_iter().flatten()
}

/// Returns `true` if something of a turn goes on.
pub(super) fn is_pending(turn: &Turn) -> bool {
    let activities = turn.calls.iter().map(|call| &call.activity).chain(turn.tools.iter().filter_map(activity_of));
    let waits = |tool: &ToolUse| {
        let is_open = |times: Times| times.scheduled.is_some() && times.ended.is_none();
        tool.approval.as_ref().is_some_and(|approval| approval.decision.is_none()) || tool.child.is_some_and(is_open)
    };
    activities.into_iter().any(|activity| activity.status == Status::Pending) || turn.tools.iter().any(waits)
}

fn activity_of(tool: &ToolUse) -> Option<&Activity> {
    match &tool.kind {
        ToolKind::Activity { activity } => Some(activity),
        ToolKind::Agent { .. } | ToolKind::Handoff { .. } | ToolKind::InWorkflow => None,
    }
}
