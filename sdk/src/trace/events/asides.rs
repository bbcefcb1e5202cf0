//! Guardrails and calls of session stores: effects that no event reports, and guardrails that have
//! tripped.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use temporal_agents_core::wire::RecordedFailure;

use super::reader::{Path, Reader};
use crate::{
    events::{Aside, AsideKind, fact_id_at},
    trace::{
        attributes::{self, Described},
        ids::SpanId,
    },
};

/// The effects so far that no event has reported.
#[derive(Default)]
pub(super) struct Asides {
    /// The agents with which runs began, by the path of their run.
    pub(super) first_agents: BTreeMap<Path, SpanId>,
    /// The start of the earliest effect, by the path of its run.
    since: BTreeMap<Path, SystemTime>,
    /// The effects that ended before an agent worked in their run.
    waiting: Vec<(Path, Waiting)>,
    /// The guardrails in activities that have tripped, by the path of their run and their names.
    tripped: BTreeSet<(Path, String)>,
    /// The guardrails that have tripped since the latest other fact.
    latest_trips: Vec<(Path, String)>,
}

struct Waiting {
    described: Described,
    id: SpanId,
    times: (SystemTime, SystemTime),
    failure: Option<RecordedFailure>,
}

impl Asides {
    /// Returns the start of the earliest effect of the run at this path, and of runs inside it.
    pub(super) fn since(&self, path: &Path) -> Option<SystemTime> {
        let of_run = |(of, since): (&Path, &SystemTime)| of.starts_with(path).then_some(*since);
        self.since.iter().filter_map(of_run).min()
    }
}

impl Reader {
    /// Reads an effect that no event reports.
    pub(super) fn aside(&mut self, aside: &Aside<'_>) {
        let Aside { run, path, kind, times, failure } = aside;
        (*run).clone_into(&mut self.run);
        let since = self.asides.since.entry(path.clone()).or_insert(times.0);
        *since = times.0.min(*since);
        if !matches!(kind, AsideKind::Earlier { .. }) {
            self.extend_to(*times);
        }
        let (execution, activity_id) = (self.writer.execution(&self.run), self.writer.activity_id());
        let (described, local) = match kind {
            AsideKind::Earlier { tripped } => {
                self.asides.tripped.extend(tripped.map(|name| (path.clone(), name.to_owned())));
                return;
            }
            AsideKind::Guardrail { effect, name, triggered } => {
                if *triggered == Some(true) {
                    self.asides.tripped.insert((path.clone(), (*name).to_owned()));
                }
                (attributes::guardrail(&execution, activity_id, name, *triggered), (*effect).to_owned())
            }
            AsideKind::Session { write: None } => {
                (attributes::session(&execution, activity_id, "read"), "session-read".to_owned())
            }
            AsideKind::Session { write: Some(number) } => {
                (attributes::session(&execution, activity_id, "add"), format!("session-add-{number}"))
            }
        };
        let id = execution.call(&fact_id_at(run, path, &local));
        let ended = Waiting { described, id, times: *times, failure: failure.clone() };
        if let Some(working) = self.agents.get_mut(path) {
            working.latest = working.latest.max(times.1);
        }
        self.send_or_wait(path, ended);
    }

    /// Reads that a guardrail has tripped. One in an activity has a span already, as has one of a
    /// run inside whose failure ends this run.
    pub(super) fn tripped(&mut self, path: &Path, name: &str, tool: Option<&str>, at: SystemTime) {
        let trip = (path.clone(), name.to_owned());
        let is_repeated = |(of, other): &(Path, String)| of.len() > path.len() && of.starts_with(path) && other == name;
        let has_span = self.asides.tripped.contains(&trip) || self.asides.latest_trips.iter().any(is_repeated);
        self.asides.latest_trips.push(trip);
        if has_span {
            return;
        }
        let execution = self.writer.execution(&self.run);
        let described = attributes::tripped(&execution, name, tool);
        let id = execution.tripped(&fact_id_at(&self.run, path, ""));
        self.send_or_wait(path, Waiting { described, id, times: (at, at), failure: None });
    }

    /// Reads another fact, after which a guardrail that trips does not repeat a failure.
    pub(super) fn continues(&mut self) {
        self.asides.latest_trips.clear();
    }

    fn send_or_wait(&mut self, path: &Path, ended: Waiting) {
        match self.agents.get(path).map(|working| working.id) {
            Some(parent) => self.send_aside(ended, parent),
            None => self.asides.waiting.push((path.clone(), ended)),
        }
    }

    /// Sends the effects that ended before the first agent of the run at this path.
    pub(super) fn send_asides(&mut self, path: &Path) {
        let (ready, rest) = std::mem::take(&mut self.asides.waiting).into_iter().partition(|(of, _)| of == path);
        self.asides.waiting = rest;
        for (path, ended) in ready {
            let parent = self.first_agent_of(&path);
            self.send_aside(ended, parent);
        }
    }

    /// Sends the effects of runs in which no agent has worked.
    pub(super) fn send_all_asides(&mut self) {
        for (path, ended) in std::mem::take(&mut self.asides.waiting) {
            let parent = self.first_agent_of(&path);
            self.send_aside(ended, parent);
        }
    }

    fn send_aside(&self, ended: Waiting, parent: SpanId) {
        let Waiting { described, id, times, failure } = ended;
        self.end(described, id, Some(parent), times, failure.as_ref(), Vec::new());
    }
}
