//! The agents that work, in their runs and around them.

use std::time::SystemTime;

use super::reader::{Path, Reader};
use crate::{
    events::fact_id_at,
    trace::{attributes, ids::SpanId},
};

/// An agent that works.
pub(super) struct Working {
    pub(super) agent: String,
    /// Number of agents before it in its run.
    ordinal: usize,
    pub(super) id: SpanId,
    pub(super) start: SystemTime,
    /// Time of its latest event.
    pub(super) latest: SystemTime,
    /// The agent with which its run began, and the time.
    pub(super) first: (String, SystemTime),
    /// The agent that worked around its run when that began, if one did.
    outer: Option<SpanId>,
}

impl Reader {
    /// Records that an agent works in the run at this path.
    pub(super) fn works(&mut self, path: &Path, agent: &str, at: SystemTime) {
        let (ordinal, first, outer, start) = match self.agents.get(path) {
            Some(working) if working.agent == agent => return,
            Some(working) => (working.ordinal + 1, working.first.clone(), working.outer, at),
            None => {
                let outer = path.split_last().and_then(|(_, outer)| self.agents.get(outer)).map(|outer| outer.id);
                // Effects before the first model call belong to the first agent.
                let inside = self.agents.iter().filter(|(of, _)| of.starts_with(path)).map(|(_, inner)| inner.first.1);
                let start = inside.chain(self.asides.since(path)).fold(at, SystemTime::min);
                (0, (agent.to_owned(), start), outer, start)
            }
        };
        self.rest(path, None);
        let of_run = self.of_path(path);
        let id = self.writer.execution(&self.run).agent(&of_run, ordinal);
        let working = Working { agent: agent.to_owned(), ordinal, id, start, latest: at, first, outer };
        self.agents.insert(path.clone(), working);
        self.asides.first_agents.entry(path.clone()).or_insert(id);
        self.send_asides(path);
    }

    /// Ends the agent that works in the run at this path.
    pub(super) fn rest(&mut self, path: &Path, end: Option<SystemTime>) {
        // The latest answer of a nested run has no event after it.
        self.answer(path);
        let Some(Working { agent, id, start, latest, outer, .. }) = self.agents.remove(path) else { return };
        let described = attributes::agent(&self.writer.execution(&self.run), &agent);
        let parent = self.parent_of(path, outer);
        self.end(described, id, Some(parent), (start, end.unwrap_or(latest)), None, Vec::new());
    }

    /// Returns the parent of the agents of the run at this path: the call that runs it, the agent
    /// that works meanwhile, or the whole run.
    fn parent_of(&self, path: &Path, outer: Option<SpanId>) -> SpanId {
        let Some((last, around)) = path.split_last() else { return self.writer.root(&self.run) };
        if last.contains("-tool-") || is_judge(last) {
            return self.writer.execution(&self.run).call(&fact_id_at(&self.run, around, last));
        }
        outer.unwrap_or_else(|| self.first_agent_of(around))
    }

    /// Returns the agent with which the run at this path began, or else a run around it.
    pub(super) fn first_agent_of(&self, path: &[String]) -> SpanId {
        let around = (0..=path.len()).rev().find_map(|steps| self.asides.first_agents.get(&path[..steps]));
        around.copied().unwrap_or_else(|| self.writer.root(&self.run))
    }

    /// Returns the agent that works in the run at this path.
    pub(super) fn agent_of(&self, path: &Path) -> SpanId {
        let working = self.agents.get(path).map(|working| working.id);
        working.unwrap_or_else(|| self.writer.root(&self.run))
    }

    fn of_path(&self, path: &Path) -> String {
        fact_id_at(&self.run, path, "")
    }

    /// Ends the judge whose run is at this path, with the latest event of that run.
    pub(super) fn judged(&self, path: &Path) {
        let (Some((last, outer)), Some(working)) = (path.split_last(), self.agents.get(path)) else { return };
        let execution = self.writer.execution(&self.run);
        let described = attributes::judge(&execution, self.call_at(outer, &last.replace("-gate-", "-tool-")));
        let id = execution.call(&fact_id_at(&self.run, outer, last));
        let parent = working.outer.unwrap_or_else(|| self.first_agent_of(outer));
        self.end(described, id, Some(parent), (working.first.1, working.latest), None, Vec::new());
    }
}

/// Returns `true` for the last part of the path of a judge.
pub(super) fn is_judge(last: &str) -> bool {
    last.contains("-gate-")
}
