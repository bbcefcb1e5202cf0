//! The run and its nested runs: each is a scope with steps, and a nested run is also a subagent.

use std::collections::BTreeMap;

use serde_json::json;
use temporal_agents_core::wire::{EventKind, RunEvent};

use super::{
    AguiMapper,
    streams::{ModelCall, Stream},
};
use crate::http::agui::AguiEvent;

/// The run, or a run nested in it.
#[derive(Debug, Default)]
pub(super) struct Scope {
    place: Place,
    /// Id of the subagent; `None` for the run itself.
    pub(super) subagent: Option<String>,
    pub(super) has_ended: bool,
    /// `true` if a reset has undone it: a run at the same place is another one.
    pub(super) is_undone: bool,
    /// Name of the agent whose turn it is; empty before it is known.
    pub(super) agent: String,
    /// `true` if the step of the agent is open.
    has_step: bool,
    /// Name of the model of the latest call.
    pub(super) model: String,
    pub(super) streams: Vec<Stream>,
    /// The model calls, by turn.
    pub(super) model_calls: BTreeMap<u32, ModelCall>,
    /// Name and id of the tool calls of each turn, in call order.
    pub(super) tool_calls: BTreeMap<u32, Vec<(String, String)>>,
}

/// The place of a run. That of the outermost run is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    workflow: Option<String>,
    run: String,
    path: Vec<String>,
}

impl Place {
    fn of(event: &RunEvent) -> Self {
        if event.workflow.is_none() && event.path.is_empty() {
            return Self::default();
        }
        Self { workflow: event.workflow.clone(), run: event.run.clone(), path: event.path.clone() }
    }

    fn is_outermost(&self) -> bool {
        *self == Self::default()
    }

    fn is_inside(&self, outer: &Self) -> bool {
        if outer.is_outermost() {
            return !self.is_outermost();
        }
        let is_related = !outer.path.is_empty() || self.workflow == outer.workflow;
        is_related && self.path.len() > outer.path.len() && self.path.starts_with(&outer.path)
    }

    /// Returns the id of the run as a subagent.
    fn id(&self) -> String {
        let parts = self.workflow.iter().chain([&self.run]).chain(&self.path);
        parts.filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join("/")
    }
}

impl Scope {
    /// Returns the number of calls between the outermost run and this one.
    pub(super) fn depth(&self) -> usize {
        self.place.path.len()
    }

    /// Returns a prefix for ids in this run that other runs have used.
    pub(super) fn prefix(&self) -> String {
        if self.place.path.is_empty() { self.place.id() } else { self.place.path.join("/") }
    }
}

impl AguiMapper {
    /// Returns the scope of an event, and opens it if this is its first event; `None` for an event
    /// that is not shown.
    pub(super) fn enter(&mut self, event: &RunEvent) -> Option<usize> {
        // A summary of the conversation is a run of its own, which no reader follows.
        if event.path.iter().any(|part| part.ends_with("-summary")) {
            return None;
        }
        let place = Place::of(event);
        let known = self.scopes.iter().position(|scope| !scope.is_undone && scope.place == place);
        let scope = match known {
            Some(scope) if self.scopes[scope].has_ended => return None,
            Some(scope) => scope,
            None if place.is_outermost() => self.open(place, None),
            None if opens(&event.kind) => self.open_subagent(place, &event.agent),
            None => return None,
        };
        if opens(&event.kind) && !event.agent.is_empty() {
            let begins_turn = matches!(
                event.kind,
                EventKind::RunStarted { .. }
                    | EventKind::RunResumed {}
                    | EventKind::TurnStarted {}
                    | EventKind::ModelCallScheduled { .. }
            );
            let Scope { agent, has_step, .. } = &self.scopes[scope];
            if !has_step {
                self.start_step(scope, &event.agent);
            } else if begins_turn && *agent != event.agent {
                self.change_agent(scope, &event.agent);
            }
        }
        Some(scope)
    }

    /// Returns the id of a scope's subagent; `None` for the run itself.
    pub(super) fn owner(&self, scope: usize) -> Option<String> {
        self.scopes[scope].subagent.clone()
    }

    /// Ends the step of an agent and begins that of the next one.
    pub(super) fn change_agent(&mut self, scope: usize, agent: &str) {
        self.close_streams(scope, |_| true);
        self.finish_step(scope);
        self.start_step(scope, agent);
        // The state belongs to the run, not to the runs nested in it.
        if self.scopes[scope].subagent.is_none() {
            let delta = vec![json!({"op": "add", "path": "/agent", "value": agent})];
            self.out.push(AguiEvent::StateDelta { delta });
        }
    }

    /// Closes what a scope has open.
    pub(super) fn close_scope(&mut self, scope: usize) {
        self.close_streams(scope, |_| true);
        self.finish_step(scope);
    }

    /// Returns the scopes inside of a scope, innermost first.
    pub(super) fn inside(&self, scope: usize) -> Vec<usize> {
        let outer = &self.scopes[scope].place;
        let is_inside = |scope: &Scope| !scope.is_undone && scope.place.is_inside(outer);
        let mut inside: Vec<usize> = (0..self.scopes.len()).filter(|index| is_inside(&self.scopes[*index])).collect();
        inside.sort_by_key(|index| std::cmp::Reverse((self.scopes[*index].depth(), *index)));
        inside
    }

    /// Returns the scope of the outermost run.
    pub(super) fn outermost(&mut self) -> usize {
        let known = self.scopes.iter().position(|scope| scope.place.is_outermost());
        known.unwrap_or_else(|| self.open(Place::default(), None))
    }

    fn open(&mut self, place: Place, subagent: Option<String>) -> usize {
        self.scopes.push(Scope { place, subagent, ..Scope::default() });
        self.scopes.len() - 1
    }

    fn open_subagent(&mut self, place: Place, agent: &str) -> usize {
        let parent = self.parent_of(&place);
        let parent_subagent_run_id = parent.and_then(|parent| self.owner(parent));
        let parent_tool_call_id = parent.and_then(|parent| self.call_of_path(parent, place.path.last()?));
        let subagent_run_id = self.fresh_id(&place.id(), 2);
        let name = if agent.is_empty() { subagent_run_id.clone() } else { agent.to_owned() };
        let scope = self.open(place, Some(subagent_run_id.clone()));
        self.out.push(AguiEvent::SubagentStarted {
            subagent_run_id,
            name,
            parent_subagent_run_id,
            parent_tool_call_id,
        });
        scope
    }

    /// Returns the open scope of the run that contains a nested run.
    fn parent_of(&self, place: &Place) -> Option<usize> {
        let depth = place.path.len().saturating_sub(1);
        let is_parent = |scope: &Scope| {
            let is_outer = if depth == 0 { scope.subagent.is_none() } else { scope.place.path == place.path[..depth] };
            is_outer && !scope.has_ended && !scope.is_undone
        };
        self.scopes.iter().rposition(is_parent)
    }

    fn start_step(&mut self, scope: usize, agent: &str) {
        agent.clone_into(&mut self.scopes[scope].agent);
        self.scopes[scope].has_step = true;
        let subagent_run_id = self.owner(scope);
        self.out.push(AguiEvent::StepStarted { step_name: agent.to_owned(), subagent_run_id });
    }

    fn finish_step(&mut self, scope: usize) {
        if std::mem::take(&mut self.scopes[scope].has_step) {
            let step_name = self.scopes[scope].agent.clone();
            let subagent_run_id = self.owner(scope);
            self.out.push(AguiEvent::StepFinished { step_name, subagent_run_id });
        }
    }
}

/// Returns `true` if a run whose first event is of this kind is shown.
fn opens(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::RunFinished { .. }
            | EventKind::RunFailed { .. }
            | EventKind::RunCancelled { .. }
            | EventKind::RunTerminated { .. }
            | EventKind::RunTimedOut {}
            | EventKind::RunPaused {}
            | EventKind::RunContinued { .. }
            | EventKind::RunReset { .. }
            | EventKind::Other { .. }
    )
}
