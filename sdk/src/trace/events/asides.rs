//! Effects that no event reports: guardrails, and calls of session stores.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use super::reader::{Path, Reader};
use crate::{
    events::{Aside, AsideKind, fact_id_at},
    trace::{
        attributes::{self, Described, triggered},
        ids::SpanId,
    },
    wire::RecordedFailure,
};

/// Effects so far that no event has reported.
#[derive(Default)]
pub(super) struct Asides {
    /// The agents with which runs began, by the path of their run.
    pub(super) firsts: BTreeMap<Path, SpanId>,
    /// Effects that ended before an agent worked in their run.
    early: Vec<(Path, Early)>,
    /// The guardrails that have a span, by the path of their run and their names.
    guardrails: BTreeSet<(Path, String)>,
    /// Number of calls of the session store so far.
    session_calls: usize,
}

struct Early {
    described: Described,
    id: SpanId,
    times: (SystemTime, SystemTime),
    failure: Option<RecordedFailure>,
}

impl Asides {
    /// Returns the time since which something happens in the run at this path, in which no agent
    /// works yet.
    pub(super) fn since(&self, path: &Path) -> Option<SystemTime> {
        self.early.iter().filter(|(of, _)| of == path).map(|(_, early)| early.times.0).min()
    }
}

impl Reader {
    /// Reads an effect that no event reports.
    pub(super) fn aside(&mut self, aside: &Aside<'_>) {
        let Aside { run, path, kind, times, failure } = aside;
        (*run).clone_into(&mut self.run);
        self.spans(*times);
        let (execution, activity_id) = (self.writer.execution(&self.run), self.writer.activity_id());
        let (described, id) = match kind {
            AsideKind::Guardrail { effect, name, output } => {
                self.asides.guardrails.insert((path.clone(), (*name).to_owned()));
                let triggered = output.and_then(|output| triggered(&output.clone().into_value()));
                let id = execution.call(&fact_id_at(run, path, effect));
                (attributes::guardrail(&execution, activity_id, name, triggered), id)
            }
            AsideKind::Session { operation } => {
                let number = self.asides.session_calls;
                self.asides.session_calls += 1;
                let id = execution.call(&fact_id_at(run, path, &format!("session-{number}")));
                (attributes::session(&execution, activity_id, operation), id)
            }
        };
        let early = Early { described, id, times: *times, failure: failure.clone() };
        match self.agents.get_mut(path) {
            Some(working) => {
                working.latest = working.latest.max(times.1);
                let parent = working.id;
                self.send_aside(early, parent);
            }
            None => self.asides.early.push((path.clone(), early)),
        }
    }

    /// Reads that a guardrail has tripped; one in an activity has a span already.
    pub(super) fn tripped(&mut self, path: &Path, name: &str, tool: Option<&str>, at: SystemTime) {
        if self.asides.guardrails.contains(&(path.clone(), name.to_owned())) {
            return;
        }
        let execution = self.writer.execution(&self.run);
        let (described, id) =
            (attributes::tripped(&execution, name, tool), execution.tripped(&fact_id_at(&self.run, path, "")));
        let early = Early { described, id, times: (at, at), failure: None };
        match self.agents.get(path).map(|working| working.id) {
            Some(parent) => self.send_aside(early, parent),
            None => self.asides.early.push((path.clone(), early)),
        }
    }

    /// Sends the effects that ended before the agent worked that now works in the run at this path.
    pub(super) fn send_asides(&mut self, path: &Path) {
        let (ready, rest) = std::mem::take(&mut self.asides.early).into_iter().partition(|(of, _)| of == path);
        self.asides.early = rest;
        for (path, early) in ready {
            let parent = self.first_agent_of(&path);
            self.send_aside(early, parent);
        }
    }

    /// Sends the effects of runs in which no agent has worked.
    pub(super) fn send_all_asides(&mut self) {
        for (path, early) in std::mem::take(&mut self.asides.early) {
            let parent = self.first_agent_of(&path);
            self.send_aside(early, parent);
        }
    }

    fn send_aside(&self, early: Early, parent: SpanId) {
        let Early { described, id, times, failure } = early;
        self.end(described, id, Some(parent), times, failure.as_ref(), Vec::new());
    }
}
