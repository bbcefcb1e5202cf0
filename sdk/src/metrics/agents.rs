//! The agents that work in a run, each from its first step to its handoff or end.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use temporal_agents_core::wire::{RunState, run_state::Phase};

/// The agents at work: of the run, and of the runs inside it, by the prefix of their effects.
#[derive(Default)]
pub(super) struct Agents {
    at_work: BTreeMap<String, Work>,
    /// Number of agents that have ended their work.
    ended: u32,
}

/// The work of an agent.
struct Work {
    agent: String,
    began: SystemTime,
    latest: SystemTime,
    inference_calls: u64,
    tool_calls: u64,
    /// Ids of the calls of the response that is at work.
    latest_calls: BTreeSet<String>,
}

/// The work of an agent that has ended.
#[derive(Debug, PartialEq)]
pub(super) struct Ended {
    /// Number of the work in its run, counted from 1.
    pub(super) number: u32,
    pub(super) agent: String,
    pub(super) duration: Duration,
    pub(super) inference_calls: u64,
    pub(super) tool_calls: u64,
}

impl Agents {
    /// Takes the beginning of a step of the run at `path`; returns the work that ended before it.
    pub(super) fn step(&mut self, path: &str, state: &RunState, now: SystemTime) -> Vec<Ended> {
        let mut ended = Vec::new();
        // A run that makes no calls of tools contains no other.
        if !matches!(state.phase, Phase::ToolsDue { .. } | Phase::Interrupted { .. } | Phase::ResumeDue { .. }) {
            ended.extend(self.end_inside(path));
        }
        let hands_off = self.at_work.get(path).is_some_and(|work| work.agent != state.agent);
        if hands_off {
            ended.extend(self.end(path, Some(now)));
        }
        let began = || Work {
            agent: state.agent.clone(),
            began: now,
            latest: now,
            inference_calls: 0,
            tool_calls: 0,
            latest_calls: BTreeSet::new(),
        };
        self.at_work.entry(path.to_owned()).or_insert_with(began).latest = now;
        ended
    }

    pub(super) fn called_model(&mut self, path: &str) {
        if let Some(work) = self.at_work.get_mut(path) {
            work.inference_calls += 1;
            work.latest_calls.clear();
        }
    }

    pub(super) fn called_tools(&mut self, path: &str, call_ids: &[&str]) {
        let Some(work) = self.at_work.get_mut(path) else { return };
        for id in call_ids {
            if work.latest_calls.insert((*id).to_owned()) {
                work.tool_calls += 1;
            }
        }
    }

    /// Ends the work of all agents.
    pub(super) fn end_all(&mut self, now: SystemTime) -> Vec<Ended> {
        let mut ended = self.end_inside("");
        ended.extend(self.end("", Some(now)));
        ended
    }

    fn end_inside(&mut self, path: &str) -> Vec<Ended> {
        let inside = self.at_work.keys().filter(|other| other.len() > path.len() && other.starts_with(path));
        let inside: Vec<String> = inside.cloned().collect();
        inside.iter().filter_map(|path| self.end(path, None)).collect()
    }

    /// Ends the work at this path, at this time, or at its latest step.
    fn end(&mut self, path: &str, now: Option<SystemTime>) -> Option<Ended> {
        let Work { agent, began, latest, inference_calls, tool_calls, .. } = self.at_work.remove(path)?;
        self.ended += 1;
        let duration = now.unwrap_or(latest).duration_since(began).unwrap_or_default();
        Some(Ended { number: self.ended, agent, duration, inference_calls, tool_calls })
    }
}
