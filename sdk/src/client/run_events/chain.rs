//! The executions of one workflow, one after the other: it continues as new, is retried, or is
//! reset.

use std::collections::VecDeque;

use temporal_agents_core::wire::RunEvent;
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::protos::temporal::api::history::v1::HistoryEvent;

use super::{
    RunEventsError,
    cursor::{Origin, Position},
    execution::{Execution, InitiatedChild, ReadOutcome},
    pages::{Pages, describe},
};
use crate::client::transcript::End;

/// The executions of one workflow.
pub(super) struct Chain {
    client: Client,
    workflow_id: String,
    /// Id of the workflow in events; `None` for the workflow that is read.
    shown_id: Option<String>,
    /// The calls in which the workflow runs.
    path: Vec<String>,
    execution: Execution,
    /// Temporal's run id of the current execution.
    run_id: String,
    /// The reader of the next pages; `None` while one is requested.
    pub(super) pages: Option<Pages>,
    events: VecDeque<HistoryEvent>,
    /// The place of the latest fact.
    pub(super) position: Position,
    /// Facts up to this place were returned before.
    told: Option<Position>,
    /// `true` while the events are copies of those of the execution that was reset.
    is_copy: bool,
    /// The child whose events come before the next event.
    waits_for: Option<i64>,
    /// The event at which it waits.
    waits_at: i64,
    /// Id of the latest event that was read.
    read: i64,
    /// The facts of the end, while children that end with the workflow have not ended.
    end: Option<Vec<(Position, RunEvent)>>,
    /// `true` if the server ends the workflow together with its parent.
    pub(super) ends_with_parent: bool,
    pub(super) has_ended: bool,
}

/// The next step of a chain.
pub(super) enum Step {
    /// Facts, each with its place.
    Facts(Vec<(Position, RunEvent)>),
    /// A child workflow has started. `is_told` if that was told before.
    Child { initiated: i64, child: InitiatedChild, run_id: String, is_told: bool },
    /// Facts of the end of an execution, which the next one continues: its children are left.
    Left(Vec<(Position, RunEvent)>),
    /// The next event waits for the end of this child.
    Waits(i64),
    /// The end waits for the children that end with the workflow.
    WaitsForChildren,
    /// More events are needed.
    Needs,
    /// The chain has ended.
    Ended,
}

impl Chain {
    /// Creates the chain that begins with this execution, or continues after `told` in it.
    pub(super) fn new(
        client: &Client,
        (workflow_id, execution): (&str, &str),
        shown: Option<(String, Vec<String>)>,
        told: Option<Position>,
    ) -> Self {
        let (shown_id, path) = shown.map_or((None, Vec::new()), |(id, path)| (Some(id), path));
        let start = Position { execution: execution.to_owned(), event: 0, index: 0 };
        Self {
            client: client.clone(),
            workflow_id: workflow_id.to_owned(),
            shown_id,
            path,
            execution: Execution::new(client.data_converter(), execution),
            run_id: execution.to_owned(),
            pages: Some(Pages::new(client, workflow_id, execution)),
            events: VecDeque::new(),
            position: told.clone().unwrap_or(start),
            told,
            is_copy: false,
            waits_for: None,
            waits_at: 0,
            read: 0,
            end: None,
            ends_with_parent: false,
            has_ended: false,
        }
    }

    /// Adds events that were fetched; `None` after the last.
    pub(super) fn fetched(&mut self, events: Option<Vec<HistoryEvent>>) {
        match events {
            Some(events) => self.events.extend(events),
            // A history without an end was cut by the server.
            None => self.has_ended = true,
        }
    }

    /// Reads the next event, if it is due.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses to describe the workflow.
    pub(super) async fn step(&mut self) -> Result<Step, RunEventsError> {
        if let Some(child) = self.waits_for {
            return Ok(Step::Waits(child));
        }
        if self.end.is_some() {
            return Ok(Step::WaitsForChildren);
        }
        if self.has_ended {
            return Ok(Step::Ended);
        }
        let Some(event) = self.events.pop_front() else { return Ok(Step::Needs) };
        let id = event.event_id;
        self.read = id;
        match self.execution.read(event).await {
            ReadOutcome::Continue => {}
            ReadOutcome::ChildStarted { initiated, child, run_id } => {
                let is_told = self.is_copy || self.is_told(id);
                self.passed(id);
                return Ok(Step::Child { initiated, child, run_id, is_told });
            }
            ReadOutcome::ChildEnded { initiated } => {
                if !self.is_copy {
                    self.waits_for = Some(initiated);
                    self.waits_at = id;
                }
                return Ok(Step::Facts(Vec::new()));
            }
            ReadOutcome::WasReset { run_id, reason } => {
                if self.run_id == run_id {
                    self.is_copy = false;
                    self.execution.reset(&run_id, &reason);
                }
            }
            ReadOutcome::Ended { next } => {
                let before = self.position.clone();
                let facts = self.place(id);
                if let Some(next) = next {
                    self.go_to(next, false);
                    return Ok(Step::Left(facts));
                }
                if let Some(next) = self.reset_as().await? {
                    self.go_to(next, true);
                    return Ok(Step::Left(facts));
                }
                // The children that end with the workflow come before its end.
                (self.end, self.position) = (Some(facts), before);
                return Ok(Step::WaitsForChildren);
            }
        }
        Ok(Step::Facts(self.place(id)))
    }

    /// Ends the chain, after the children that end with it, and returns its last facts.
    pub(super) fn conclude(&mut self) -> Vec<(Position, RunEvent)> {
        self.has_ended = true;
        let facts = self.end.take().unwrap_or_default();
        if let Some((position, _)) = facts.last() {
            self.position.clone_from(position);
        }
        facts
    }

    /// Returns `true` while the events are those that a cursor's reader has read before.
    pub(super) fn is_before_cursor(&self) -> bool {
        self.told.as_ref().is_some_and(|told| self.read < told.event)
    }

    /// Returns the origin of a child that this execution initiates with the event.
    pub(super) fn origin(&self, event: i64) -> Origin {
        Origin::new(&self.run_id, event)
    }

    /// Returns the execution that was read last, and the id of its latest event that was read.
    pub(super) fn place_read(&self) -> (&str, i64) {
        (&self.run_id, self.read)
    }

    /// Returns the end of the chain and its time, once it was read.
    pub(super) fn closed(&self) -> Option<&(End, String)> {
        self.execution.closed()
    }

    /// Returns the calls in which the workflow runs.
    pub(super) fn path(&self) -> &[String] {
        &self.path
    }

    /// Continues after a child whose events were returned.
    pub(super) fn child_was_told(&mut self) {
        self.waits_for = None;
        self.passed(self.waits_at);
    }

    /// Moves the position behind an event without facts, so that a reader from a cursor knows which
    /// children were read.
    fn passed(&mut self, event: i64) {
        if !self.is_copy && !self.is_told(event) {
            self.position = Position { execution: self.run_id.clone(), event, index: 0 };
        }
    }

    fn is_told(&self, event: i64) -> bool {
        self.told.as_ref().is_some_and(|told| event <= told.event)
    }

    /// Takes the facts of an event, without those that were returned before.
    fn place(&mut self, event: i64) -> Vec<(Position, RunEvent)> {
        let facts = self.execution.events();
        if self.is_copy {
            return Vec::new();
        }
        let execution = self.run_id.clone();
        let mut placed = Vec::new();
        for (index, mut fact) in facts.into_iter().enumerate() {
            let is_told = self.told.as_ref().is_some_and(|told| (event, index) <= (told.event, told.index));
            if is_told {
                continue;
            }
            if let Some(id) = &self.shown_id {
                fact.workflow = Some(id.clone());
                fact.path.splice(0..0, self.path.iter().cloned());
            }
            self.position = Position { execution: execution.clone(), event, index };
            placed.push((self.position.clone(), fact));
        }
        placed
    }

    /// Continues with the next execution, which may begin as a copy of this one.
    fn go_to(&mut self, next: String, is_copy: bool) {
        self.execution = Execution::new(self.client.data_converter(), &next);
        self.pages = Some(Pages::new(&self.client, &self.workflow_id, &next));
        self.events.clear();
        self.run_id.clone_from(&next);
        (self.told, self.is_copy, self.read) = (None, is_copy, 0);
        // The position of a copy begins with its own first event.
        if !is_copy {
            self.position = Position { execution: next, event: 0, index: 0 };
        }
    }

    /// Returns the execution as which this one was reset, if it was.
    ///
    /// # Errors
    /// [`RunEventsError`] when the server refuses to describe the workflow.
    async fn reset_as(&self) -> Result<Option<String>, RunEventsError> {
        // The parent has recorded the end of a child, which a reset does not change.
        if self.shown_id.is_some() {
            return Ok(None);
        }
        match describe(&self.client, &self.workflow_id, Some(&self.run_id)).await {
            Ok(described) => Ok(Some(described.reset_as).filter(|id| !id.is_empty())),
            // The server deletes a workflow as a whole.
            Err(RunEventsError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
