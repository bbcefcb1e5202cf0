//! The facts of a workflow's runs, from what was observed of them.
//!
//! | file | observations |
//! |---|---|
//! | `calls.rs` | calls of models and tools |
//! | `notes.rs` | notes of runs, questions and decisions |
//! | `ends.rs` | ends of runs and of their workflow |

mod calls;
mod ends;
mod guarded;
mod notes;

use std::{collections::BTreeMap, time::SystemTime};

use prost_types::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents_core::wire::{EventKind, HandoffSpec, Item, ItemView, RecordedFailure, RunEvent};

use super::{
    activity_id::{Place, Role},
    publisher::rfc3339,
    run::ObservedRun,
};

/// The runs of one workflow execution, or of one process, and the facts that were not taken yet.
///
/// Serialized, it is the data that later facts depend on, so that another process continues with
/// them.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    /// The runs, by the prefix of the ids of their effects.
    runs: BTreeMap<String, ObservedRun>,
    /// The prefixes, in the order in which the runs began.
    order: Vec<String>,
    /// Start of the earliest effect that no fact reports (RFC 3339, UTC).
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// Distinguishes the ids of facts of the workflow; empty without a workflow.
    #[serde(skip)]
    execution: String,
    /// Distinguishes the ids after a reset from those before.
    #[serde(skip)]
    suffix: String,
    #[serde(skip)]
    now: String,
    #[serde(skip)]
    told: Vec<RunEvent>,
}

/// The attempts at a call, as far as history holds them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attempts {
    /// Number of the last attempt, counted from 1.
    pub(crate) number: u32,
    /// Failure of the attempt before.
    pub(crate) earlier_failure: Option<RecordedFailure>,
}

/// A model call that was scheduled.
#[derive(Debug)]
pub(crate) struct ScheduledModelCall<'c> {
    /// Name of the agent; `None` if the request cannot be read.
    pub(crate) agent: Option<&'c str>,
    pub(crate) turn: u32,
    pub(crate) model: &'c str,
    /// The handoffs in its definitions, unless these are those of an earlier call.
    pub(crate) handoffs: Option<&'c [HandoffSpec]>,
    /// The whole input, as far as it is known.
    pub(crate) items: &'c [Item],
    /// `true` if output guardrails check the answer; `None` if the request is not known.
    pub(crate) guards_output: Option<bool>,
}

/// An effect of a run.
struct Effect {
    /// Prefix of the ids of the run's effects.
    run: String,
    /// Id of the call in the run: `2-model`.
    of_call: String,
    /// Id of the effect in the run: that of the call, with a suffix if it was scheduled again.
    id: String,
}

impl Effect {
    /// Returns the effect of an activity; `None` for an activity that is not a model call or a tool
    /// call of a run.
    fn of(id: &str) -> Option<Self> {
        let place = Place::of(id)?;
        let of_call = match place.role {
            // A summary is an effect of the run that it shortens, and no turn of it.
            Role::Model { .. } if place.run == id || place.run.ends_with("-summary") => return None,
            Role::Model { turn } => format!("{turn}-model"),
            Role::Tool { turn, index } => format!("{turn}-tool-{index}"),
            Role::McpList { .. } | Role::Aside => return None,
        };
        let id = id.strip_prefix(place.run)?.trim_start_matches('-').to_owned();
        Some(Self { run: place.run.to_owned(), of_call, id })
    }
}

impl Facts {
    /// Creates the facts of the runs of this execution.
    pub(crate) fn of_execution(execution: String) -> Self {
        Self { execution, ..Self::default() }
    }

    /// Returns the facts as those of this execution.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn in_execution(self, execution: String) -> Self {
        Self { execution, ..self }
    }

    /// Sets the time of the next observations (RFC 3339, UTC).
    pub(crate) fn at(&mut self, now: String) {
        self.now = now;
    }

    /// Distinguishes all later ids from those of this execution's copy before its reset.
    pub(crate) fn after_reset(&mut self, suffix: String) {
        self.suffix = suffix;
    }

    /// Takes the facts since the last time.
    pub(crate) fn take(&mut self) -> Vec<RunEvent> {
        std::mem::take(&mut self.told)
    }

    /// Returns a delta of this run, at the current time.
    pub(crate) fn delta(&self, run: &str, agent: &str, turn: u32, kind: EventKind) -> RunEvent {
        let (root, path) = lineage(run);
        RunEvent { run: root, path, agent: agent.to_owned(), turn, time: self.now.clone(), ..RunEvent::new(kind) }
    }

    /// Records the start of an effect that no fact reports.
    pub(crate) fn begins_by(&mut self, time: SystemTime) {
        if self.since().is_none_or(|since| time < since) {
            self.since = Some(rfc3339(time));
        }
    }

    /// Returns the start of the earliest effect that no fact reports.
    pub(crate) fn since(&self) -> Option<SystemTime> {
        self.since.as_ref()?.parse::<Timestamp>().ok()?.try_into().ok()
    }

    /// Continues from the data of a snapshot; `None` if it is not one of this build.
    pub(crate) fn continued_from(snapshot: Value) -> Option<Self> {
        let facts: Self = serde_json::from_value(snapshot).ok()?;
        let is_whole =
            facts.order.len() == facts.runs.len() && facts.order.iter().all(|run| facts.runs.contains_key(run));
        is_whole.then_some(facts)
    }

    /// Returns the data that later facts depend on: of the outermost runs, of nested runs whose end
    /// is not reported yet, and with `nested` of all.
    pub(crate) fn snapshot(&self, nested: bool) -> Value {
        let is_kept = |run: &&String| {
            let observed = &self.runs[*run];
            nested || observed.path.is_empty() || (observed.has_begun && !observed.has_ended)
        };
        let order: Vec<String> = self.order.iter().filter(is_kept).cloned().collect();
        let runs = order.iter().map(|run| (run.clone(), self.runs[run].clone())).collect();
        let kept = Self { runs, order, since: self.since.clone(), ..Self::default() };
        serde_json::to_value(kept).expect("the facts are maps with string keys")
    }

    /// Returns `true` if this run waits for decisions.
    pub(crate) fn is_paused(&self, run: &str) -> bool {
        self.runs.get(run).is_some_and(|observed| observed.is_paused)
    }

    fn run(&mut self, run: &str) -> &mut ObservedRun {
        if !self.runs.contains_key(run) {
            let (root, path) = lineage(run);
            self.order.push(run.to_owned());
            self.runs.insert(run.to_owned(), ObservedRun { root, path, ..ObservedRun::default() });
        }
        self.runs.get_mut(run).expect("the run was inserted above")
    }

    /// Returns the outermost runs that have begun and not ended, in the order in which they began.
    fn open_runs(&self) -> Vec<String> {
        let is_open = |run: &&String| {
            let observed = &self.runs[*run];
            observed.path.is_empty() && observed.has_begun && !observed.has_ended
        };
        self.order.iter().filter(is_open).cloned().collect()
    }

    fn open_run(&self) -> Option<&String> {
        self.order.iter().rev().find(|run| self.runs[*run].path.is_empty() && !self.runs[*run].has_ended)
    }

    /// Reports that a run which has paused continues, or which an earlier execution has begun.
    fn goes_on(&mut self, run: &str) {
        let observed = self.run(run);
        if !observed.has_begun || observed.is_paused {
            observed.has_begun = true;
            self.resumed(run);
        }
    }

    /// Reports that the outermost run continues, if a run inside it does.
    fn root_goes_on(&mut self, run: &str) {
        let (root, _) = lineage(run);
        if root != run && self.runs.get(&root).is_some_and(|observed| observed.is_paused) {
            self.resumed(&root);
        }
    }

    fn resumed(&mut self, run: &str) {
        let observed = self.run(run);
        observed.is_paused = false;
        let local = observed.numbered("resumed");
        self.tell(run, &local, EventKind::RunResumed {});
    }

    fn tell(&mut self, run: &str, local: &str, kind: EventKind) {
        let event = self.event(run, local, kind);
        self.told.push(event);
    }

    fn event(&mut self, run: &str, local: &str, kind: EventKind) -> RunEvent {
        let suffix = self.suffix.clone();
        let now = self.now.clone();
        let observed = self.run(run);
        let mut event = RunEvent::new(kind);
        event.id = id(&observed.root, &suffix, &observed.path, local);
        (event.run, event.path) = (observed.root.clone(), observed.path.clone());
        (event.agent, event.turn, event.time) = (observed.agent.clone(), observed.turn, now);
        event
    }

    /// Reports a fact of the workflow, which has no open run: the id of the run is empty.
    fn tell_of_workflow(&mut self, local: &str, kind: EventKind) {
        let id = format!("workflow~{}/{local}", self.execution);
        self.told.push(RunEvent { id, time: self.now.clone(), ..RunEvent::new(kind) });
    }

    /// Marks the latest facts as opaque.
    fn mark_opaque(&mut self, is_opaque: bool, count: usize) {
        if is_opaque {
            self.told.iter_mut().rev().take(count).for_each(|event| event.is_opaque = true);
        }
    }
}

/// Returns the id of a fact of the run with this prefix.
pub(crate) fn fact_id(run: &str, local: &str) -> String {
    let (root, path) = lineage(run);
    id(&root, "", &path, local)
}

/// Returns the id of a fact of the run at this path in the outermost run.
pub(crate) fn fact_id_at(root: &str, path: &[String], local: &str) -> String {
    id(root, "", path, local)
}

fn id(root: &str, suffix: &str, path: &[String], local: &str) -> String {
    let mut id = format!("{root}{suffix}");
    for step in path.iter().map(String::as_str).chain([local]) {
        id.push('/');
        id.push_str(step);
    }
    id
}

/// Returns the outermost run that contains the run with this prefix, and the calls between them.
pub(crate) fn lineage(run: &str) -> (String, Vec<String>) {
    let mut path = Vec::new();
    let mut inner = run;
    while let Some(outer) = Place::parent(inner) {
        path.push(inner[outer.len()..].trim_start_matches('-').to_owned());
        inner = outer;
    }
    path.reverse();
    (inner.to_owned(), path)
}

/// Returns the id of the call that an item is the output of.
fn output_of(item: &Item) -> Option<&str> {
    match item.view() {
        ItemView::FunctionCallOutput { call_id, .. } | ItemView::NativeCallOutput { call_id, .. } => Some(call_id),
        _ => None,
    }
}

/// Returns the id of the call that a question is about: the last part of the question's id, without
/// the number of the question.
pub(crate) fn call_id_of(question: &str) -> String {
    let last = question.rsplit('/').next().unwrap_or(question);
    without_number(last).replace("~2", "#").replace("~1", "/").replace("~0", "~")
}

/// Returns an id without the number that tells it from equal ones: `c1` for `c1#2`.
pub(crate) fn without_number(id: &str) -> &str {
    match id.rsplit_once('#') {
        Some((own, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => own,
        _ => id,
    }
}

#[cfg(test)]
mod tests;
