//! Replay of histories without a server: does the build at hand still do what they say, and what has changed if it does not?
//!
//! | file | what it holds |
//! |---|---|
//! | here | the replay of one history, and why it fails |
//! | `open.rs` | all open workflows of a type, or a folder of histories |
//! | `report.rs` | what came of these |
//! | `journal.rs` | what the build does while it replays |
//! | `recorded.rs` | what the history says |
//! | `change.rs` | where both part, in the author's terms |
//!
//! # Design
//! **The replay check explains by a journal.** A replay that fails says which command differs,
//! never why. So the check puts a journal into the workflow's context by an interceptor of the
//! replayer: commands come from the interceptor, decisions from `workflow/replay_journal.rs`
//! (arguments refused, pauses, failed runs, the agents of the build). Outside of a check there is
//! no value in the context, and no note is made. `change.rs` looks for the first recorded command
//! that the build does not issue, and the first it issues that is not recorded, and explains the
//! difference by the graph of today, the recorded answer before it, and what was decided since.
//!
//! **The check replays one workflow task more than an open history has.** A replay ends with a
//! workflow task, so the next one is begun on its behalf (`with_next_task`): what the workflow does
//! with all that has happened is checked as well, and a continued run that would wait for a deploy
//! is found before it does.

mod change;
mod journal;
mod open;
mod recorded;
mod report;

use temporal_agents::__private::error_debug;
use temporalio_client::WorkflowHistory;
use temporalio_common::{
    WorkflowDefinition, data_converters::DataConverter, protos::temporal::api::enums::v1::EventType,
};
use temporalio_sdk::{
    WorkflowRegistrationError,
    workflow_replayer::{WorkflowReplayError, WorkflowReplayFailure, WorkflowReplayer, WorkflowReplayerOptions},
};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

use self::journal::Journal;
pub use self::{
    change::ReplayChange,
    open::ReplaySourceError,
    report::{CheckFailure, CheckedHistory, ReplayReport},
};
use crate::history::History;

/// The reason why a history does not replay.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The workflow cannot be registered.
    #[error(transparent)]
    Registration(#[from] WorkflowRegistrationError),
    /// The agents do something else than the history says.
    #[error("{change}\n({source})")]
    Changed {
        /// The change.
        change: Box<ReplayChange>,
        /// The error of the Temporal SDK.
        source: WorkflowReplayError,
    },
    /// The workflow does something else than the history says, or the history is broken; the agents do not explain it.
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

/// Replays a history against the workflow `W`, from its first event. Needs neither server nor worker.
///
/// ```no_run
/// # use temporal_agents_testing::{history, replay};
/// # async fn example<W>() -> Result<(), Box<dyn std::error::Error>>
/// # where
/// #     W: temporalio_workflow::__private::sdk::WorkflowImplementation,
/// #     <W::Run as temporalio_common::WorkflowDefinition>::Input: Send,
/// # {
/// // As exported by the Temporal UI, by `temporal workflow show --output json`, or by the Rust SDK.
/// replay::<W>(&history::load("tests/histories/refund.json")?).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ReplayError`]; a change of the agents is a [`ReplayError::Changed`] that names agent, tool and cause.
pub async fn replay<W>(history: &History) -> Result<(), ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    ReplayCheck::new().workflow::<W>()?.replay(history).await
}

/// Replays a history as a worker without a workflow cache does: from its first event, up to each of its workflow tasks in
/// turn.
///
/// # Errors
/// [`ReplayError`], of the first workflow task that does something else than it did.
pub async fn replay_without_cache<W>(history: &History) -> Result<(), ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    ReplayCheck::new().workflow::<W>()?.replay_without_cache(history).await
}

/// The workflows of a build, for the replay of histories against them: single ones, a folder of them, or those of all open workflows of a
/// server.
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
/// let build = ReplayCheck::new().workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(AgentSet::new((librarian,))))?;
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
    /// A check without workflows.
    pub fn new() -> Self {
        Self { options: WorkflowReplayerOptions::new().build(), at_once: 8 }
    }

    /// Adds a workflow.
    ///
    /// # Errors
    /// When a workflow of this type is there already.
    pub fn workflow<W>(mut self) -> Result<Self, WorkflowRegistrationError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
    {
        self.options.register_workflow::<W>()?;
        Ok(self)
    }

    /// Adds a workflow that a function makes, such as `ChatWorkflow::factory(..)`.
    ///
    /// # Errors
    /// When a workflow of this type is there already.
    pub fn workflow_with_factory<W, F>(mut self, factory: F) -> Result<Self, WorkflowRegistrationError>
    where
        W: WorkflowImplementation,
        <W::Run as WorkflowDefinition>::Input: Send,
        F: Fn() -> W + Send + Sync + 'static,
    {
        self.options.register_workflow_with_factory::<W, F>(factory)?;
        Ok(self)
    }

    /// The data converter of the histories, with its codec. Default: JSON as it is;
    /// [`open_workflows`](Self::open_workflows) uses the client's.
    #[must_use]
    pub fn data_converter(mut self, converter: DataConverter) -> Self {
        self.options.data_converter = converter;
        self
    }

    /// The number of histories that are fetched and replayed at the same time. Default 8.
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

    /// Replays the beginning of a history, and explains by all of it why that fails.
    async fn replay_part(&self, part: &History, history: &History) -> Result<(), ReplayError> {
        if part.events.is_empty() {
            // The replayer would wait for a workflow task.
            let failure = WorkflowReplayFailure::InvalidHistory { message: "it has no events".to_owned() };
            return Err(WorkflowReplayError::from(failure).into());
        }
        let journal = Journal::default();
        let mut options = self.options.clone();
        options.workflow_interceptor(journal.interceptor());
        let replayer = WorkflowReplayer::new(options)?;
        let Err(source) = replayer.replay_workflow(WorkflowHistory::from(part.clone())).await else { return Ok(()) };
        let record = recorded::read(history, &self.options.data_converter).await;
        Err(match change::explain(&record, &journal.entries()) {
            Some(change) => ReplayError::Changed { change: Box::new(change), source },
            None => source.into(),
        })
    }

    /// Replays a history as a worker without a workflow cache does: from its first event, up to each of its workflow tasks in turn.
    ///
    /// # Errors
    /// [`ReplayError`], of the first workflow task that does something else than it did.
    pub async fn replay_without_cache(&self, history: &History) -> Result<(), ReplayError> {
        let begins_task = |place: &usize| history.events[*place].event_type() == EventType::WorkflowTaskStarted;
        for place in (0..history.events.len()).filter(begins_task) {
            let seen = History { events: history.events[..=place].to_vec() };
            // Not all in one `replay_workflows`: of several histories of one run it silently replays only some.
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
