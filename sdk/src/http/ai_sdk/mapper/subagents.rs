//! The runs inside the run: one data part each, which is replaced as the run proceeds.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use temporal_agents_core::wire::{EventKind, RunEvent};

use crate::http::ai_sdk::chunk::Chunk;

/// The nested runs, by the ids of their parts.
#[derive(Default)]
pub(super) struct Subagents(BTreeMap<String, Subagent>);

#[derive(Clone, PartialEq)]
struct Subagent {
    agent: String,
    turn: u32,
    status: SubagentStatus,
}

/// Status of a nested run.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SubagentStatus {
    Running,
    Done,
    Failed,
}

/// Returns `true` for an event of a run inside the run.
pub(super) fn is_nested(event: &RunEvent) -> bool {
    !event.path.is_empty() || event.workflow.is_some()
}

impl Subagents {
    /// Returns the part of a nested run, if the event changes it.
    pub(super) fn event(&mut self, event: &RunEvent) -> Option<Chunk> {
        let id = id_of(event);
        let known = self.0.get(&id);
        let status = match (&event.kind, known) {
            (EventKind::RunFinished { .. }, _) => SubagentStatus::Done,
            (
                EventKind::RunFailed { .. }
                | EventKind::RunCancelled { .. }
                | EventKind::RunTerminated { .. }
                | EventKind::RunTimedOut {},
                _,
            ) => SubagentStatus::Failed,
            (EventKind::RunStarted { .. } | EventKind::RunResumed {} | EventKind::RunReset { .. }, _) => {
                SubagentStatus::Running
            }
            // Late events of a run that has ended.
            (_, Some(known)) if known.status != SubagentStatus::Running => return None,
            _ => SubagentStatus::Running,
        };
        let agent = if event.agent.is_empty() { known.map(|known| known.agent.clone()) } else { None };
        let subagent = Subagent { agent: agent.unwrap_or_else(|| event.agent.clone()), turn: event.turn, status };
        if known == Some(&subagent) {
            return None;
        }
        let part = part(&id, &subagent);
        self.0.insert(id, subagent);
        Some(part)
    }

    /// Returns the parts of the runs that have not reported their end, with this status.
    pub(super) fn ended(&mut self, status: SubagentStatus) -> Vec<Chunk> {
        let running = self.0.iter_mut().filter(|(_, subagent)| subagent.status == SubagentStatus::Running);
        let end = |(id, subagent): (&String, &mut Subagent)| {
            subagent.status = status;
            part(id, subagent)
        };
        running.map(end).collect()
    }

    /// Forgets all runs, because their parts were removed.
    pub(super) fn rewind(&mut self) {
        self.0.clear();
    }
}

fn part(id: &str, subagent: &Subagent) -> Chunk {
    let Subagent { agent, turn, status } = subagent;
    Chunk::data("subagent", Some(id.to_owned()), json!({"agent": agent, "turn": turn, "status": status}))
}

/// Returns the id of the part: the workflow of the run if it has its own, the outermost run, and
/// the calls on the way.
fn id_of(event: &RunEvent) -> String {
    let steps = event.workflow.iter().chain([&event.run]).chain(&event.path);
    steps.map(String::as_str).collect::<Vec<_>>().join("/")
}
