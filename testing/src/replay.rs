//! Replay of a history without a server: does today's workflow code still do what the history says?

use temporalio_client::WorkflowHistory;
use temporalio_common::WorkflowDefinition;
use temporalio_sdk::{
    WorkflowRegistrationError,
    workflow_replayer::{WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions},
};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

use crate::history::History;

/// Why a history does not replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The workflow cannot be registered.
    #[error(transparent)]
    Registration(#[from] WorkflowRegistrationError),
    /// The workflow does something else than the history says, or the history is broken.
    #[error(transparent)]
    Replay(#[from] WorkflowReplayError),
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
/// [`ReplayError`]; a difference is a [`WorkflowReplayError::Replay`] that names the event.
pub async fn replay<W>(history: &History) -> Result<(), ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    let options = WorkflowReplayerOptions::new().register_workflow::<W>()?.build();
    let replayer = WorkflowReplayer::new(options)?;
    Ok(replayer.replay_workflow(WorkflowHistory::from(history.clone())).await?)
}
