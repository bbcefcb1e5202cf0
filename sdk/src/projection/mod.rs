//! Runs of agents as rows of a database: their status, their events and their messages, for as long
//! as the database keeps them.
//!
//! ```no_run
//! use temporal_agents::{projection::Projector, store::SqlStore};
//! # async fn project(
//! #     client: &temporalio_client::Client,
//! #     stopped: impl Future<Output = ()>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//!
//! let store = SqlStore::connect("postgres://agents:secret@localhost/agents").await?;
//! Projector::new(client, &store, "support").run(stopped).await;
//! # Ok(())
//! # }
//! ```
//!
//! | table | content |
//! |---|---|
//! | `agents_runs` | the runs, by workflow and first execution, with their status |
//! | `agents_run_events` | the events of a run in their order (`sequence`), each as JSON |
//! | `agents_messages` | the messages of a run or a chat, in order of `sequence` and `position` |
//!
//! With these rows `GET /runs` and `GET /runs/{id}` of a service (`AgentsService::run_store`)
//! answer also after the server has deleted the workflow.
//!
//! # Content
//! Rows hold what the client of the projector can decode of the history, as plain text. With the
//! workers' codec that is the content of messages and calls; a client without the codec writes
//! events without content ([`RunEvent::is_opaque`](temporal_agents_core::wire::RunEvent::is_opaque)).
//!
//! # Design
//! **Rows are read from histories, not written by activities.** A run costs no further activities,
//! and a workflow that was terminated, timed out or deleted has rows as well, although no code of
//! it ran at its end. The tables can be dropped and built again, as far as histories exist.
//!
//! **Deltas are not stored.** A reader that comes later gets the whole message.
//!
//! **Each run has a cursor of its own,** in its row, which moves in the transaction that inserts
//! the events. So any number of projectors may run, and each may be killed at any time.
//!
//! | file | content |
//! |---|---|
//! | `discovery.rs` | finds workflows, by visibility and in the rows |
//! | `schedule.rs` | decides which of them are followed |
//! | `origin.rs` | the row of a workflow that was found |
//! | `follow.rs` | follows one workflow |
//! | `gone.rs` | ends the rows of workflows that the server has deleted |

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod discovery;
mod follow;
mod gone;
mod origin;
mod schedule;

use std::sync::Arc;

use temporal_agents_core::wire::ready_made::{AGENT_WORKFLOW, CHAT_WORKFLOW};
use temporalio_client::{Client, NamespacedClient};

use self::schedule::Schedule;
use crate::store::{SqlStore, sql::runs::RunFilter};
#[cfg(feature = "otel")]
use crate::trace::Tracing;

/// Follows the histories of workflows and writes their runs to a database.
///
/// It takes all workflows of its types and task queues, whoever has started them: those that run,
/// and those that have ended and that the server still has. The rows of one that runs follow its
/// history within a moment; while more than 256 run at the same time, those without news are looked
/// at every 30 s. One that the database does not know and that has ended is read once.
///
/// Any number of projectors may write to one database, from any number of processes.
#[derive(Clone)]
pub struct Projector {
    client: Client,
    store: SqlStore,
    filter: RunFilter,
    #[cfg(feature = "otel")]
    tracing: Option<Tracing>,
}

/// The parts that all tasks of a projector share.
struct Shared {
    client: Client,
    store: SqlStore,
    filter: RunFilter,
    #[cfg(feature = "otel")]
    tracing: Option<Tracing>,
}

impl Projector {
    /// Creates a projector of the workflows `AgentWorkflow` and `ChatWorkflow` on a task queue;
    /// writes nothing yet.
    pub fn new(client: &Client, store: &SqlStore, task_queue: impl Into<String>) -> Self {
        let filter = RunFilter {
            namespace: client.namespace(),
            workflow_types: vec![AGENT_WORKFLOW.to_owned(), CHAT_WORKFLOW.to_owned()],
            task_queues: vec![task_queue.into()],
        };
        Self {
            client: client.clone(),
            store: store.clone(),
            filter,
            #[cfg(feature = "otel")]
            tracing: None,
        }
    }

    /// Sends the trace of each workflow that has ended, from its history, once its rows are
    /// written: also of workflows whose workers send no traces, and of those that ended before the
    /// projector began. `tracing` is that of [`Tracing::new`] or [`Tracing::from_env`].
    ///
    /// Workers that send traces as well send the same spans, with the same ids. What is lost is
    /// counted ([`Tracing::lost`]), and [`export_workflow`](crate::trace::export_workflow) sends it
    /// again.
    #[cfg(feature = "otel")]
    #[must_use]
    pub fn tracing(mut self, tracing: &Tracing) -> Self {
        self.tracing = Some(tracing.clone());
        self
    }

    /// Also takes workflows on this task queue.
    #[must_use]
    pub fn task_queue(mut self, task_queue: impl Into<String>) -> Self {
        self.filter.task_queues.push(task_queue.into());
        self
    }

    /// Also takes workflows of this type, an author's own, whose runs have the events of agents.
    #[must_use]
    pub fn workflow_type(mut self, workflow_type: impl Into<String>) -> Self {
        self.filter.workflow_types.push(workflow_type.into());
        self
    }

    /// Follows workflows until `stopped`. The writes that are under way are then completed or
    /// rolled back.
    ///
    /// # Retries
    /// A server or a database that is unavailable is tried again, with growing pauses of up to
    /// 15 s, until it is available.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub async fn run(self, stopped: impl Future<Output = ()>) {
        let shared = Shared {
            client: self.client,
            store: self.store,
            filter: self.filter,
            #[cfg(feature = "otel")]
            tracing: self.tracing,
        };
        Schedule::new(Arc::new(shared)).run(stopped).await;
    }
}

impl std::fmt::Debug for Projector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Projector").field("store", &self.store).field("filter", &self.filter).finish_non_exhaustive()
    }
}
