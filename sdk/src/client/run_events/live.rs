//! The facts of a workflow, and between them the deltas of its open calls.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use futures::{Stream, stream::unfold};
use temporal_agents_core::wire::{EventKind, RunEvent, delta_window::DeltaWindow};
use tokio::sync::watch;

use super::{
    RunEventStream, RunEvents, RunEventsError,
    attempts::OpenAttempt,
    live_poller::{LivePoller, Wanted},
    outside::HeldDeltas,
};
use crate::events::{DeltaOrder, attempt_id, delta_of, with_suffix, without_suffix};

/// Number of ended calls that are remembered: a snapshot may be a second older than the latest
/// facts.
const MAX_REMEMBERED_CALLS: usize = 512;

/// Returns the facts, with the deltas of open calls between them.
pub(super) fn live(
    events: RunEvents,
    workflow_id: String,
    from: Option<String>,
    facts: RunEventStream,
) -> impl Stream<Item = Result<RunEvent, RunEventsError>> + Send {
    let start = (events, workflow_id, facts, from, None::<Live>);
    unfold(start, |(events, workflow_id, mut facts, mut from, live)| async move {
        let mut live = live.unwrap_or_else(|| Live::new(events.poller(&workflow_id), from.take()));
        let event = live.next(&mut facts).await?;
        Some((event, (events, workflow_id, facts, from, Some(live))))
    })
}

/// A subscriber of facts and deltas.
struct Live {
    poller: Arc<LivePoller>,
    snapshots: watch::Receiver<Arc<Vec<OpenAttempt>>>,
    /// The latest snapshot.
    latest: Arc<Vec<OpenAttempt>>,
    /// Set while calls are open.
    wanted: Option<Wanted>,
    merge: Merge,
}

impl Live {
    fn new(poller: Arc<LivePoller>, cursor: Option<String>) -> Self {
        let merge = Merge { sees_all: cursor.is_none(), cursor, ..Merge::default() };
        // A reader that continues from a cursor does not know which calls are open.
        Self { snapshots: poller.attempts(), latest: Arc::default(), wanted: Some(poller.want()), poller, merge }
    }

    async fn next(&mut self, facts: &mut RunEventStream) -> Option<Result<RunEvent, RunEventsError>> {
        loop {
            if let Some(delta) = self.merge.next_due() {
                return Some(Ok(delta));
            }
            tokio::select! {
                // A fact replaces deltas, so it goes first.
                biased;
                event = facts.next() => {
                    match &event {
                        Some(Ok(delta)) if delta.is_delta() => {
                            let is_passed_on = self.merge.published(delta);
                            if !is_passed_on {
                                continue;
                            }
                        }
                        Some(Ok(fact)) => {
                            self.merge.fact(fact);
                            if self.merge.holds_back {
                                self.merge.snapshot(&Arc::clone(&self.latest));
                            }
                            self.want();
                            match &fact.kind {
                                EventKind::ModelCallScheduled { .. } => {
                                    self.poller.model_call_scheduled(&without_suffix(&fact.id).0);
                                }
                                EventKind::ToolCall { .. } | EventKind::RunReset { .. } => {
                                    self.poller.calls_changed(&fact.id);
                                }
                                _ => {}
                            }
                        }
                        _ => {}
                    }
                    return event;
                }
                Ok(()) = self.snapshots.changed() => {
                    self.latest = Arc::clone(&self.snapshots.borrow_and_update());
                    self.merge.snapshot(&self.latest);
                    self.want();
                }
            }
        }
    }

    /// Makes the poller read while calls are open.
    fn want(&mut self) {
        // A workflow without agents has no facts, but may have agentic sessions.
        let expects_deltas = self.merge.expects_deltas() || self.merge.cursor.is_none();
        match (expects_deltas, &self.wanted) {
            (true, None) => self.wanted = Some(self.poller.want()),
            (false, Some(_)) => self.wanted = None,
            _ => {}
        }
    }
}

/// The deltas that a subscriber has received, and those that are due.
#[derive(Default)]
struct Merge {
    due: VecDeque<RunEvent>,
    /// Deltas of agentic sessions, which are not between facts of the workflow.
    due_of_sessions: VecDeque<RunEvent>,
    cursor: Option<String>,
    /// The calls that are open according to the facts, by the id that their facts begin with,
    /// without the suffix of a reset, or by the id of a tool call.
    open: BTreeSet<String>,
    /// The suffix of ids after a reset.
    suffix: String,
    /// `true` if the latest snapshot had open attempts, or if there was none yet.
    has_attempts: Option<bool>,
    /// The calls that have ended, latest last.
    ended: VecDeque<String>,
    seen: BTreeMap<String, Seen>,
    /// The latest turn of each run of the workflow, by the run's id and path.
    turns: BTreeMap<(String, Vec<String>), Turn>,
    /// `true` if the subscriber receives all facts about open calls; `false` if some may have come
    /// before its first one.
    sees_all: bool,
    /// `true` if the latest snapshot has an attempt whose facts are still to come.
    holds_back: bool,
}

/// The latest turn of a run, according to its facts.
#[derive(Default)]
struct Turn {
    agent: String,
    number: u32,
    /// `true` if its model call was not scheduled yet.
    awaits_model: bool,
}

/// The deltas of one call that the subscriber has received.
#[derive(Default)]
struct Seen {
    /// The latest attempt that has begun or failed.
    attempt: u32,
    has_failed: bool,
    order: DeltaOrder,
}

impl Merge {
    /// Returns the next delta, which has the cursor of the event before it. So none comes before
    /// the first fact, except for those of agentic sessions: their workflow may have no facts.
    fn next_due(&mut self) -> Option<RunEvent> {
        if let Some(delta) = self.due_of_sessions.pop_front() {
            return Some(RunEvent { cursor: self.cursor.clone(), ..delta });
        }
        let cursor = Some(self.cursor.clone()?);
        let delta = self.due.pop_front()?;
        Some(RunEvent { cursor, ..delta })
    }

    fn expects_deltas(&self) -> bool {
        self.has_attempts.unwrap_or(true) || !self.open.is_empty()
    }

    /// Records a delta of the workflow's stream; returns `false` if readers must not receive it.
    fn published(&mut self, delta: &RunEvent) -> bool {
        self.cursor.clone_from(&delta.cursor);
        if let EventKind::ChatMessageDelta { .. } = &delta.kind {
            return true;
        }
        let (id, _) = without_suffix(&delta.id);
        let Some((call, attempt, _)) = delta_of(&id) else { return false };
        let seen = self.seen.entry(call.to_owned()).or_default();
        if (attempt, false) < (seen.attempt, seen.has_failed) {
            return false;
        }
        (seen.attempt, seen.has_failed) = (attempt, false);
        true
    }

    fn fact(&mut self, fact: &RunEvent) {
        self.cursor.clone_from(&fact.cursor);
        self.move_to(fact);
        let (id, suffix) = without_suffix(&fact.id);
        let call = |end: &str| id.strip_suffix(end).unwrap_or(&id).to_owned();
        match &fact.kind {
            EventKind::RunReset { .. } => {
                // The calls of the undone part are made again, with the same ids but for the
                // suffix. Those of the part before are open, and have no facts again.
                let (cursor, suffix) = (self.cursor.take(), suffix.to_owned());
                *self = Self { cursor, suffix, ..Self::default() };
            }
            EventKind::ModelCallScheduled { .. } => {
                suffix.clone_into(&mut self.suffix);
                self.open.insert(id);
            }
            EventKind::ModelCallAnswered { .. } => self.model_call_answered(call("/answered")),
            EventKind::ModelCallFailed { .. } => self.ended(call("/failed")),
            EventKind::ToolCall { call_id, .. } => {
                self.open.insert(call_id.clone());
            }
            EventKind::ToolOutput { call_id, .. } => {
                self.open.remove(call_id);
                self.ended(call("/output"));
            }
            EventKind::ToolFailed { call_id, .. } => {
                self.open.remove(call_id);
                self.ended(call("/failed"));
            }
            // The tools run after the decisions, until the next model call.
            EventKind::RunResumed {} => {
                self.open.insert(fact.run.clone());
            }
            EventKind::TurnStarted {} => {
                self.open.remove(&fact.run);
            }
            // Of a run inside, the calls of the runs around it are still open.
            EventKind::RunPaused {} if fact.path.is_empty() => self.open.clear(),
            kind if kind.ends_the_run() && fact.path.is_empty() => self.open.clear(),
            _ => {}
        }
    }

    /// Keeps the turn of the run that the fact is of.
    fn move_to(&mut self, fact: &RunEvent) {
        if fact.workflow.is_some() || fact.run.is_empty() {
            return;
        }
        let turn = self.turns.entry((fact.run.clone(), fact.path.clone())).or_default();
        turn.agent.clone_from(&fact.agent);
        turn.number = fact.turn;
        turn.awaits_model = match &fact.kind {
            EventKind::ModelCallScheduled { .. } => false,
            EventKind::RunStarted { .. } | EventKind::TurnStarted {} | EventKind::Handoff { .. } => true,
            _ => turn.awaits_model,
        };
    }

    /// Returns the agent of an attempt; `None` if the facts about its call are still to come. The
    /// agent is empty if the subscriber has begun after these facts.
    fn agent_of(&self, open: &OpenAttempt) -> Option<String> {
        let RunEvent { run, path, turn, .. } = &open.event;
        match self.turns.get(&(run.clone(), path.clone())) {
            None => (!self.sees_all).then(String::new),
            Some(known) if known.number < *turn => None,
            Some(known) if known.number == *turn => {
                let is_due = !(open.is_model && known.awaits_model);
                is_due.then(|| known.agent.clone())
            }
            Some(_) => Some(String::new()),
        }
    }

    /// Ends a model call, and the activities that sent it again with missing parts: the answer has
    /// the id of the call, theirs have a suffix.
    fn model_call_answered(&mut self, call: String) {
        let of_the_call = format!("{call}-");
        let sent_again: Vec<_> = self.open.iter().filter(|open| open.starts_with(&of_the_call)).cloned().collect();
        for activity in sent_again {
            self.ended(activity);
        }
        self.ended(call);
    }

    fn ended(&mut self, call: String) {
        self.open.remove(&call);
        self.seen.remove(&call);
        self.ended.push_back(call);
        if self.ended.len() > MAX_REMEMBERED_CALLS {
            self.ended.pop_front();
        }
    }

    fn snapshot(&mut self, attempts: &[OpenAttempt]) {
        self.has_attempts = Some(!attempts.is_empty());
        self.holds_back = false;
        for open in attempts {
            if open.call.is_empty() || self.ended.contains(&open.call) {
                continue;
            }
            let mut event = open.event.clone();
            if !open.is_of_session {
                let Some(agent) = self.agent_of(open) else {
                    self.holds_back = true;
                    continue;
                };
                event.agent = agent;
            }
            let seen = self.seen.entry(open.call.clone()).or_default();
            let mut due = Vec::new();
            seen.attempt(&event, &open.call, &mut due);
            if let Some(window) = &open.window {
                seen.window(window, &open.call, &mut due);
            }
            seen.outside(&open.outside, &open.call, &mut due);
            if open.is_of_session {
                self.due_of_sessions.extend(due);
                continue;
            }
            for event in due {
                self.due.push_back(with_suffix(event, &self.suffix));
            }
        }
    }
}

impl Seen {
    /// Adds the event of an attempt that has begun or failed since the last snapshot.
    fn attempt(&mut self, event: &RunEvent, call: &str, due: &mut Vec<RunEvent>) {
        let EventKind::AttemptDelta { attempt, failure, .. } = &event.kind else { return };
        let has_failed = failure.is_some();
        if (*attempt, has_failed) <= (self.attempt, self.has_failed) {
            return;
        }
        (self.attempt, self.has_failed) = (*attempt, has_failed);
        // The beginning of a first attempt is the fact that the call was scheduled.
        if *attempt > 1 || has_failed {
            let end = if has_failed { ".failed" } else { "" };
            due.push(RunEvent { id: attempt_id(call, *attempt) + end, ..event.clone() });
        }
    }

    /// Adds the deltas that are new in a window.
    fn window(&mut self, window: &DeltaWindow, call: &str, due: &mut Vec<RunEvent>) {
        self.deltas(window.attempt, (window.first..).zip(&window.deltas), call, due);
    }

    /// Adds the deltas that are new of those that were read outside of Temporal. An attempt may
    /// begin there before the server reports it, and its deltas may come after it has failed.
    fn outside(&mut self, held: &HeldDeltas, call: &str, due: &mut Vec<RunEvent>) {
        if held.attempt == 0 || (held.attempt, false) < (self.attempt, self.has_failed) {
            return;
        }
        (self.attempt, self.has_failed) = (held.attempt, false);
        let next = self.order.next_number(held.attempt).max(held.first());
        self.deltas(held.attempt, held.since(next), call, due);
    }

    /// Adds the deltas of an attempt that are new.
    fn deltas<'d>(
        &mut self,
        attempt: u32,
        deltas: impl Iterator<Item = (u64, &'d RunEvent)>,
        call: &str,
        due: &mut Vec<RunEvent>,
    ) {
        for (number, delta) in deltas {
            if self.order.record(attempt, number) && delta.is_delta() {
                let id = format!("{}.{number}", attempt_id(call, attempt));
                due.push(RunEvent { id, ..delta.clone() });
            }
        }
    }
}

#[cfg(test)]
mod tests;
