//! Runs and chats as tasks of a process, without Temporal: the mode `inprocess`.
//!
//! [`InProcessRuns`] runs the agents of an [`AgentSet`](crate::workflow::AgentSet) as tasks, and
//! keeps their rows and their facts in a [`SqlStore`](crate::store::SqlStore) while they run. Any
//! process with the same database starts, reads, decides and cancels them. Clients see the same
//! events as of an `AgentWorkflow` or a `ChatWorkflow`, with the same ids but for the run's.
//!
//! ```no_run
//! use temporal_agents::{
//!     Agent, client::{AgentRuns, NewRun}, in_process::InProcessRuns, provider::OpenAi,
//!     store::SqlStore, wire::AgentRequest, workflow::AgentSet,
//! };
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//!
//! fn triage() -> Agent {
//!     Agent::new("triage").model("gpt-5")
//! }
//!
//! let store = SqlStore::connect("sqlite:agents.db").await?;
//! let tasks = InProcessRuns::new(store, AgentSet::new((triage,)), OpenAi::from_env()?);
//! let runs = AgentRuns::in_process(&tasks);
//! let id = runs.start_run(NewRun::new(AgentRequest::new("triage", "Where is my parcel?"))).await?;
//! # Ok(())
//! # }
//! ```
//!
//! | file | content |
//! |---|---|
//! | `runs.rs` | the tasks of this process: starts, owns, stops them |
//! | `admission.rs` | how many runs work at the same time |
//! | `task.rs`, `host.rs`, `inbox.rs` | one task, and one run on it |
//! | `chat.rs` | the messages of a chat |
//! | `specs.rs` | agents as data |
//! | `watch.rs` | the loops of a process: mail, heartbeat, processes that have died |
//! | `lost.rs` | takes over the tasks of a process that has died |
//! | `mail.rs`, `rows.rs` | the tables |
//! | `writer.rs`, `hub.rs`, `reader.rs` | facts: to the store, and to readers |
//! | `broker.rs`, `follower.rs` | facts and deltas of tasks of other processes |
//! | `client.rs` | what clients of both modes call |
//!
//! # Design
//! **A task has one owner, and survives it only while it waits.** The owner is a process whose beat
//! increases in the store. When the beat does not change for a whole lease, another process takes
//! its tasks over: a run that waits for a person is one value (its `RunState`) and continues there,
//! as does a chat between two messages; a run that was under way becomes `failed`, with an error
//! event. It is not repeated: its tools may have taken effect. Beats are counted, so that clocks
//! need not agree.
//!
//! **A run that was accepted begins.** Its row notes before its first effect that it has begun. A run
//! without this note is begun by the process that takes it over: a process may die, and a database
//! may fail, after the row is written and before the run begins. The note costs one small
//! transaction at the start of a run.
//!
//! **The engine, the inbox and the chat are those of the workflows.** Only what surrounds them
//! differs: mail in a table in place of updates, facts in a table in place of a history.
//!
//! **Deltas are not stored.** Readers in the owner's process have them from its memory, those in
//! other processes over a broker ([`InProcessRuns::deltas`]), between the facts that they read in the
//! store. Without a broker, or while it is unavailable, readers in other processes have the facts.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod admission;
mod broker;
mod chat;
mod client;
mod follower;
mod host;
mod hub;
mod inbox;
mod lost;
mod mail;
mod reader;
mod rows;
mod runs;
mod specs;
mod task;
mod watch;
mod writer;

pub use runs::InProcessRuns;
