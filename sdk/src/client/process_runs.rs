//! Runs that are tasks of processes, as clients use them: the counterpart of a Temporal client.
//!
//! The room `in_process` implements [`ProcessRuns`]. Its calls have the meaning of the requests to
//! a workflow: a decision and a message are updates with an id, which count once.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde_json::Value;
use temporal_agents_core::wire::{
    AgentDecision, AgentInterruption, AgentState, ChatMessage, ChatReply, ChatRequest, ChatTranscript, DecisionAnswer,
    RunStatus, asked_questions::AskedQuestions, run_place::RunPlace,
};

use super::{NewRun, RunEventStream, StartRunError};

/// A run or a chat in a store.
#[derive(Clone, Debug)]
pub(crate) struct ProcessRow {
    pub(crate) id: String,
    pub(crate) is_chat: bool,
    /// `true` if no process has it: a chat has no message to answer.
    pub(crate) is_left: bool,
    pub(crate) agent: Option<String>,
    /// What a person recognises it by.
    pub(crate) title: Option<String>,
    /// Id of the stored conversation that it continues.
    pub(crate) thread: Option<String>,
    pub(crate) status: RunStatus,
    /// Id that no other run has.
    pub(crate) execution: String,
    /// Time of its start and of its end (RFC 3339, UTC).
    pub(crate) started_at: String,
    pub(crate) ended_at: Option<String>,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) questions: TaskQuestions,
    /// The final output, or the message of the failure, of one that has ended; absent in lists.
    pub(crate) outcome: Option<Result<Value, String>>,
    pub(crate) place: RunPlace,
}

/// The calls of a task that wait.
#[derive(Clone, Debug)]
pub(crate) enum TaskQuestions {
    /// All of them, in full.
    InFull(Vec<AgentInterruption>),
    /// As lists have them, if any wait.
    Recorded(Option<Box<AskedQuestions>>),
    /// Some wait, and the row cannot be read.
    Unreadable,
}

/// The part of a list of tasks that is wanted.
#[derive(Debug)]
pub(crate) struct TaskList<'l> {
    /// Only those that have not ended.
    pub(crate) open: bool,
    /// Only those that wait for people.
    pub(crate) waiting: bool,
    /// Only those of this agent.
    pub(crate) agent: Option<&'l str>,
    /// Only those that come after this place.
    pub(crate) after: &'l RunPlace,
    pub(crate) limit: usize,
}

/// The failure of a request to a run of a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessRunError {
    /// There is no such run.
    #[error("there is no run {0:?}")]
    NotFound(String),
    /// The run has ended.
    #[error("run {0:?} has ended")]
    Ended(String),
    /// No process has answered in time.
    #[error("no process has answered for run {0:?} in time")]
    Unanswered(String),
    /// The chat of a message could not be started.
    #[error(transparent)]
    NotStarted(StartRunError),
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The store fails.
    #[error("the store of the runs fails: {0}")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The result of a request to a run of a process.
pub(crate) type Asked<'a, T> = BoxFuture<'a, Result<T, ProcessRunError>>;

/// Runs that are tasks of processes, which share a store.
pub(crate) trait ProcessRuns: Send + Sync {
    /// Starts a run as a task of this process. A run with its id that exists is not started again.
    fn start(&self, id: String, run: NewRun) -> BoxFuture<'_, Result<String, StartRunError>>;

    /// Returns the run with this id.
    fn find<'a>(&'a self, id: &'a str) -> Asked<'a, Option<ProcessRow>>;

    /// Returns the latest runs, newest first.
    fn list<'a>(&'a self, wanted: TaskList<'a>) -> Asked<'a, Vec<ProcessRow>>;

    /// Returns the events after the one with this cursor, and deltas if they are wanted. The stream
    /// ends after the last event of a run that has ended.
    fn events(&self, id: String, after: Option<String>, deltas: bool) -> RunEventStream;

    /// Returns the state of the runs of a task.
    fn state<'a>(&'a self, id: &'a str) -> Asked<'a, Option<AgentState>>;

    /// Sends a decision, as the mail with this id.
    fn decide<'a>(&'a self, id: &'a str, mail: String, decision: AgentDecision) -> Asked<'a, DecisionAnswer>;

    /// Sends a message to a chat, which is started if it does not exist, and returns the first
    /// answer: [`GoesOn`](temporal_agents_core::wire::ChatOutcome::GoesOn) once it is accepted.
    fn send<'a>(&'a self, id: &'a str, chat: ChatRequest, message: ChatMessage) -> Asked<'a, ChatReply>;

    /// Waits for the reply to a message; `None` if the chat does not know it.
    fn reply_to(&self, id: String, message: String) -> BoxFuture<'static, Option<ChatReply>>;

    /// Returns the conversation of a chat.
    fn transcript<'a>(&'a self, id: &'a str) -> Asked<'a, ChatTranscript>;

    /// Cancels a run.
    fn cancel<'a>(&'a self, id: &'a str) -> Asked<'a, ()>;
}
