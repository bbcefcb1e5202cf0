//! Replay of histories without a server: checks that the current build reproduces them, and reports
//! the change if it does not.
//!
//! | file | content |
//! |---|---|
//! | here | the replay of one history, and the reason for a failure |
//! | `open.rs` | all open workflows of a type, or a folder of histories |
//! | `report.rs` | the results of these replays |
//!
//! The journal of a replay, and the explanation of a difference, are `replay` of `temporal-agents`:
//! workers explain by them what they log.
//!
//! # Design
//! **The replay check explains failures by a journal.** The error of a failed replay contains the
//! command that differs, but not the reason. So the check adds a journal to the workflow's context
//! through an interceptor of the replayer: the interceptor records commands, and
//! `workflow/replay_journal.rs` records decisions (refused arguments, pauses, failed runs, the
//! agents of the build). `replay/change.rs` looks for the first recorded command that the build does not issue, and for the
//! first command of the build that is not recorded, and explains the difference by the current
//! graph, the recorded response before it, and the decisions since then.
//!
//! **The check replays one workflow task more than an open history has.** A replay ends with a
//! workflow task, so the check appends the start of the next one (`with_next_task`). The check
//! therefore also covers the workflow's reaction to all events so far, and finds a continued run
//! that would have to wait for a deployment before that run does.

mod open;
mod report;

pub use temporal_agents::__internal::replay::ReplayChange;
use temporal_agents::{
    __internal::replay::{Journal, explain, read},
    __private::error_debug,
};
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    WorkflowDefinition, data_converters::DataConverter, protos::temporal::api::enums::v1::EventType,
};
use temporalio_sdk::{
    WorkflowRegistrationError,
    workflow_replayer::{WorkflowReplayError, WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions},
};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

pub use self::{
    open::ReplaySourceError,
    report::{CheckFailure, CheckedHistory, ReplayReport},
};
use crate::history::History;

/// The reason for which a history does not replay.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The workflow cannot be registered.
    #[error(transparent)]
    Registration(#[from] WorkflowRegistrationError),
    /// The agents do not reproduce the history.
    #[error("{change}\n({source})")]
    Changed {
        /// The change.
        change: Box<ReplayChange>,
        /// The error of the Temporal SDK.
        source: WorkflowReplayError,
    },
    /// The workflow does not reproduce the history, or the history is corrupt, and no change of the
    /// agents explains it.
    #[error(transparent)]
    Replay(#[from] WorkflowReplayError),
}

error_debug!(
    enum ReplayError {
        Registration(source),
        Changed { change, source },
        Replay(source),
    }
);

impl ReplayError {
    /// Returns the change of the agents that breaks the replay, if one explains it.
    pub fn change(&self) -> Option<&ReplayChange> {
        match self {
            Self::Changed { change, .. } => Some(change),
            Self::Registration(_) | Self::Replay(_) => None,
        }
    }
}

/// Replays a history against the workflow `W`, from its first event. Needs neither a server nor a
/// worker.
///
/// ```no_run
/// # use temporal_agents_testing::{history, replay};
/// # async fn example<W>() -> Result<(), Box<dyn std::error::Error>>
/// # where
/// #     W: temporalio_workflow::__private::sdk::WorkflowImplementation,
/// #     <W::Run as temporalio_common::WorkflowDefinition>::Input: Send,
/// # {
/// // Exported by the Temporal UI, `temporal workflow show --output json`, or the Rust SDK.
/// replay::<W>(&history::load("tests/histories/refund.json")?).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ReplayError`]; for a change of the agents, a [`ReplayError::Changed`] that names agent, tool
/// and cause.
pub async fn replay<W>(history: &History) -> Result<(), ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    ReplayCheck::new().workflow::<W>()?.replay(history).await
}

/// Replays a history as a worker without a workflow cache does: from its first event, up to each of
/// its workflow tasks in turn.
///
/// # Errors
/// [`ReplayError`] of the first workflow task that does not reproduce the history.
pub async fn replay_without_cache<W>(history: &History) -> Result<(), ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    ReplayCheck::new().workflow::<W>()?.replay_without_cache(history).await
}

/// The workflows of a build, for the replay of histories against them: single histories, a folder
/// of histories, or those of all open workflows of a server.
///
/// ```no_run
/// use temporal_agents::{Agent, workflow::{AgentSet, ChatWorkflow}};
/// use temporal_agents_testing::ReplayCheck;
/// # use temporalio_client::Client;
///
/// fn librarian() -> Agent {
///     Agent::new("librarian").model("gpt-5")
/// }
///
/// # async fn check(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// let build = ReplayCheck::new().workflow_with_factory::<ChatWorkflow, _>(
///     ChatWorkflow::factory(AgentSet::new((librarian,))),
/// )?;
/// let report = build.open_workflows(client, "ChatWorkflow").await?.into_result()?;
/// println!("{report}");
/// build.folder("tests/histories").await?.into_result()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReplayCheck {
    options: WorkflowReplayerOptions,
    at_once: usize,
}

impl Default for ReplayCheck {
    fn default() -> Self {
        Self::new()
    }
}

impl ReplayCheck {
    /// Creates a check without workflows.
    pub fn new() -> Self {
        Self { options: WorkflowReplayerOptions::new().build(), at_once: 8 }
    }

    /// Adds a workflow.
    ///
    /// # Errors
    /// If a workflow of this type is already registered.
    pub fn workflow<W>(mut self) -> Result<Self, WorkflowRegistrationError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        self.options.register_workflow::<W>()?;
        Ok(self)
    }

    /// Adds a workflow that a function creates, such as `ChatWorkflow::factory(..)`.
    ///
    /// # Errors
    /// If a workflow of this type is already registered.
    pub fn workflow_with_factory<W, F>(mut self, factory: F) -> Result<Self, WorkflowRegistrationError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
        F: Fn() -> W + Send + Sync + 'static,
    {
        self.options.register_workflow_with_factory::<W, F>(factory)?;
        Ok(self)
    }

    /// Sets the data converter of the histories, with its codec. Default: plain JSON;
    /// [`open_workflows`](Self::open_workflows) uses the client's.
    #[must_use]
    pub fn data_converter(mut self, converter: DataConverter) -> Self {
        self.options.data_converter = converter;
        self
    }

    /// Sets the number of histories that are fetched and replayed concurrently. Default 8.
    #[must_use]
    pub fn max_parallel(mut self, histories: usize) -> Self {
        self.at_once = histories.max(1);
        self
    }

    /// Replays a history, from its first event.
    ///
    /// # Errors
    /// [`ReplayError`].
    pub async fn replay(&self, history: &History) -> Result<(), ReplayError> {
        self.replay_part(history, history).await
    }

    /// Replays the beginning of a history, and explains a failure by the complete history.
    async fn replay_part(&self, part: &History, history: &History) -> Result<(), ReplayError> {
        if part.events.is_empty() {
            // Without events, the replayer would wait for a workflow task.
            let failure = WorkflowReplayFailure::InvalidHistory { message: "the history has no events".to_owned() };
            return Err(WorkflowReplayError::from(failure).into());
        }
        let journal = Journal::default();
        let mut options = self.options.clone();
        options.workflow_interceptor(journal.interceptor());
        let replayer = WorkflowReplayer::new(options)?;
        let Err(source) = replayer.replay_workflow(WorkflowHistory::from(part.clone())).await else { return Ok(()) };
        let record = read(history, &self.options.data_converter).await;
        Err(match explain(&record, &journal.entries()) {
            Some(change) => ReplayError::Changed { change: Box::new(change), source },
            None => source.into(),
        })
    }

    /// Replays a history as a worker without a workflow cache does: from its first event, up to
    /// each of its workflow tasks in turn.
    ///
    /// # Errors
    /// [`ReplayError`] of the first workflow task that does not reproduce the history.
    pub async fn replay_without_cache(&self, history: &History) -> Result<(), ReplayError> {
        let begins_task = |place: &usize| history.events[*place].event_type() == EventType::WorkflowTaskStarted;
        for place in (0..history.events.len()).filter(begins_task) {
            let seen = History { events: history.events[..=place].to_vec() };
            // Not all in one `replay_workflows`: of several histories of the same run, it silently
            // replays only some.
            self.replay_part(&seen, history).await?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for ReplayCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReplayCheck").field("at_once", &self.at_once).finish_non_exhaustive()
    }
}
