//! Replay of a history without a server: does today's workflow code still do what the history says?

use temporal_agents::__private::error_debug;
use temporalio_client::WorkflowHistory;
use temporalio_common::{WorkflowDefinition, protos::temporal::api::enums::v1::EventType};
use temporalio_sdk::{
    WorkflowRegistrationError,
    workflow_replayer::{WorkflowReplayError, WorkflowReplayer, WorkflowReplayerOptions},
};
use temporalio_workflow::__private::sdk::WorkflowImplementation;

use crate::history::History;

/// Why a history does not replay.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The workflow cannot be registered.
    #[error(transparent)]
    Registration(#[from] WorkflowRegistrationError),
    /// The workflow does something else than the history says, or the history is broken.
    #[error(transparent)]
    Replay(#[from] WorkflowReplayError),
}

error_debug!(
    enum ReplayError {
        Registration(source),
        Replay(source),
    }
);

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
    Ok(replayer::<W>()?.replay_workflow(WorkflowHistory::from(history.clone())).await?)
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
    let begins_task = |place: &usize| history.events[*place].event_type() == EventType::WorkflowTaskStarted;
    let replayer = replayer::<W>()?;
    for place in (0..history.events.len()).filter(begins_task) {
        let seen = History { events: history.events[..=place].to_vec() };
        // Not all in one `replay_workflows`: of several histories of one run it silently replays only some.
        replayer.replay_workflow(WorkflowHistory::from(seen)).await?;
    }
    Ok(())
}

fn replayer<W>() -> Result<WorkflowReplayer, ReplayError>
where
    W: WorkflowImplementation,
    <W::Run as WorkflowDefinition>::Input: Send,
{
    let options = WorkflowReplayerOptions::new().register_workflow::<W>()?.build();
    Ok(WorkflowReplayer::new(options)?)
}
