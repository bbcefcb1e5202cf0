//! Diagnoses an open run that makes no progress.
//!
//! | file | content |
//! |---|---|
//! | here | the door: what is read, and when |
//! | `facts.rs` | what the server tells, as plain data |
//! | `rules.rs` | the thresholds, and the problem that follows from the facts |
//! | `tail.rs` | the end of a history: the latest failed task, the origin of a call, timers |
//! | `queues.rs` | the pollers of task queues |
//! | `quiet.rs` | when a follower of events looks for a problem |
//!
//! # Design
//! **A run that makes progress costs nothing.** The description of a workflow has its pending task
//! and activities, with their attempts. Only if one of them looks wrong, the end of the history or
//! the pollers of a queue are requested: one or two requests. What a queue's pollers are is known
//! for 5 seconds.
//!
//! **A diagnosis never fails.** It explains what a caller has seen already. What cannot be read is
//! left out, and logged at level debug.
//!
//! **Only a run that is certainly stuck has a problem.** A task that failed once is retried, a chat
//! waits for messages, and a workflow of an author may wait for a signal of which its server knows
//! nothing.

mod facts;
mod queues;
mod quiet;
mod rules;
mod tail;

use std::time::SystemTime;

use temporal_agents_core::wire::{
    RunProblem,
    event::{NoteKind, RUN_NOTE_MEMO, RunNote},
};
use temporalio_client::{
    Client, NamespacedClient, UntypedWorkflow, WorkflowDescribeOptions, WorkflowExecutionDescription,
};

pub(crate) use self::quiet::QuietWatch;
pub(super) use self::rules::nondeterminism;
#[cfg(feature = "http")]
use self::rules::queue_not_polled;
#[cfg(feature = "http")]
pub(crate) use self::rules::replay_differs;
use self::{
    facts::{Millis, RunFacts, millis},
    queues::{Polled, Queues},
    rules::Suspicion,
    tail::History,
};

/// Diagnoses the runs of a namespace. Clones share what is known of task queues.
#[derive(Clone)]
pub(crate) struct Diagnosis {
    client: Client,
    queues: Queues,
}

impl Diagnosis {
    pub(crate) fn new(client: &Client) -> Self {
        Self { client: client.clone(), queues: Queues::default() }
    }

    /// Returns the problem of the latest execution of a workflow; `None` also if it has ended or
    /// cannot be read.
    pub(crate) async fn of_workflow(&self, workflow_id: &str) -> Option<RunProblem> {
        let handle = self.client.get_workflow_handle::<UntypedWorkflow>(workflow_id);
        match handle.describe(WorkflowDescribeOptions::default()).await {
            Ok(described) => Box::pin(self.of_described(&described)).await,
            Err(error) => {
                tracing::debug!(workflow_id, %error, "a workflow could not be described");
                None
            }
        }
    }

    /// Returns the problem of a workflow that was described just now.
    pub(crate) async fn of_described(&self, described: &WorkflowExecutionDescription) -> Option<RunProblem> {
        let raw = described.raw();
        let info = raw.workflow_execution_info.as_ref()?;
        if info.close_time.is_some() {
            return None;
        }
        // What this process cannot read may say that the run waits.
        let is_waiting = match described.memo().get::<RunNote>(RUN_NOTE_MEMO) {
            Ok(note) => note.is_some_and(|note| matches!(note.note, NoteKind::Paused)),
            Err(_) => true,
        };
        let mut facts = RunFacts::read(raw, self.client.data_converter(), is_waiting, now()).await;
        let history = History::new(&self.client, info.execution.as_ref()?);
        match facts.task_suspicion() {
            Some(Suspicion::Fails) => {
                facts.failed_task = history.failed_task().await;
                if facts.workflow_task.is_some_and(|task| !task.is_started) {
                    facts.workflow_pollers = self.workflow_pollers(&facts.task_queue).await;
                }
            }
            Some(Suspicion::NotTaken) => facts.workflow_pollers = self.workflow_pollers(&facts.task_queue).await,
            None => match facts.activity_suspicion() {
                Some((place, Suspicion::Fails)) => {
                    let caller = history.caller(&facts.activities[place].id).await;
                    facts.activities[place].caller = caller;
                }
                Some((place, Suspicion::NotTaken)) => {
                    let queue = facts.activities[place].task_queue.clone();
                    facts.activity_pollers = self.queues.are_polled(&self.client, &queue, Polled::Activities).await;
                    facts.workflow_pollers = self.workflow_pollers(&queue).await;
                }
                None if facts.seems_abandoned() => facts.tail = history.tail().await,
                None => {}
            },
        }
        facts.problem()
    }

    /// Returns the problem of all open runs of a task queue, if nobody polls it.
    #[cfg(feature = "http")]
    pub(crate) async fn of_queue(&self, task_queue: &str) -> Option<RunProblem> {
        let is_polled = self.workflow_pollers(task_queue).await?;
        (!is_polled).then(|| queue_not_polled(task_queue))
    }

    async fn workflow_pollers(&self, task_queue: &str) -> Option<bool> {
        self.queues.are_polled(&self.client, task_queue, Polled::Workflows).await
    }
}

fn now() -> Millis {
    millis(Some(&SystemTime::now()))
}

impl std::fmt::Debug for Diagnosis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Diagnosis").finish_non_exhaustive()
    }
}
