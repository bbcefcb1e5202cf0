//! States that are too large for a workflow's input: chunks of their JSON text, recorded one after another.
//!
//! How many there are decides which activities are scheduled: a change here is a change of a rule (see CONTRIBUTING.md).
//! One after another, because neither a workflow task nor its answer may be larger than 4 MB.

use std::{rc::Rc, time::Duration};

use serde_json::Value;
use temporalio_workflow::{
    ActivityCloseTimeouts, ActivityExecutionError, ActivityOptions, RetryPolicy, WorkflowCancellationToken,
};

use crate::{
    engine::EffectError,
    wire::{
        Digest, KEEP_STATE_ACTIVITY, KeptState, LOAD_STATE_ACTIVITY, RunState, WIRE_VERSION,
        carried::{KeepStateReply, KeepStateRequest, LoadStateReply, LoadStateRequest},
        decode,
    },
    workflow::{
        context::DurableContext,
        failure::{EffectFailure, NEVER_RETRIED, is_not_registered},
    },
};

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);

/// Why a state was not kept or loaded.
pub(super) enum StoreError {
    Cancelled,
    Failed(EffectError),
}

impl<E: Into<EffectError>> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// No worker has the activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has activity {activity}; install AgentsPlugin on the workers of the workflow"
)]
struct NotInstalled {
    task_queue: String,
    activity: &'static str,
    #[source]
    source: EffectFailure,
}

/// Records the text of a state in this execution's history; `run` is what the ids of its activities begin with.
pub(super) async fn keep(
    ctx: &Rc<dyn DurableContext>,
    run: &str,
    text: &str,
    chunk_bytes: usize,
    token: &WorkflowCancellationToken,
) -> Result<KeptState, StoreError> {
    let mut activity_ids = Vec::new();
    for (number, chunk) in chunks(text, chunk_bytes).into_iter().enumerate() {
        let id = format!("{run}-keep-{number}");
        let request = KeepStateRequest { version: WIRE_VERSION, chunk: chunk.to_owned() };
        let reply = call(ctx, KEEP_STATE_ACTIVITY, "keep", &id, serde_json::to_value(request)?, token).await?;
        decode::<KeepStateReply>("keep state reply", reply)?;
        activity_ids.push(id);
    }
    Ok(KeptState { run_id: ctx.run_id(), activity_ids, bytes: text.len() as u64, digest: Digest::of_text(text) })
}

/// A state that was loaded: its chunks are in this execution's history, as the results of activities `<activity_id>-<n>`.
pub(super) struct Loaded {
    pub(super) state: RunState,
    pub(super) activity_id: String,
    pub(super) chunks: usize,
}

/// Reads a state that another execution has kept.
pub(super) async fn load(
    ctx: &Rc<dyn DurableContext>,
    run: &str,
    kept: KeptState,
    token: &WorkflowCancellationToken,
) -> Result<Loaded, StoreError> {
    let KeptState { run_id, activity_ids, bytes, digest } = kept;
    let (mut text, chunks) = (String::new(), activity_ids.len());
    let loads = format!("{run}-state");
    for (number, activity_id) in activity_ids.into_iter().enumerate() {
        let id = format!("{loads}-{number}");
        let request = LoadStateRequest { version: WIRE_VERSION, run_id: run_id.clone(), activity_id };
        let reply = call(ctx, LOAD_STATE_ACTIVITY, "load", &id, serde_json::to_value(request)?, token).await?;
        let LoadStateReply { version: _, chunk } = decode("load state reply", reply)?;
        text.push_str(&chunk);
    }
    let found = Digest::of_text(&text);
    if found != digest {
        let error = format!(
            "what was loaded from run {run_id:?} is not what was kept there: expected {bytes} bytes, {digest}, found {} bytes, {found}",
            text.len()
        );
        return Err(StoreError::Failed(error.into()));
    }
    Ok(Loaded { state: serde_json::from_str(&text)?, activity_id: loads, chunks })
}

async fn call(
    ctx: &Rc<dyn DurableContext>,
    activity: &'static str,
    verb: &str,
    id: &str,
    request: Value,
    token: &WorkflowCancellationToken,
) -> Result<Value, StoreError> {
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: ALL_ATTEMPTS };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(id)
        .cancellation_token(token.clone())
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary(format!("{verb} a part of the run's state"))
        .build();
    ctx.state_activity(activity, request, options).await.map_err(|failure| {
        if matches!(failure, ActivityExecutionError::Cancelled(_)) || failure.as_cancelled().is_some() {
            return StoreError::Cancelled;
        }
        let is_missing = is_not_registered(&failure);
        let source = EffectFailure::new(failure);
        StoreError::Failed(if is_missing {
            Box::new(NotInstalled { task_queue: ctx.task_queue(), activity, source })
        } else {
            Box::new(source)
        })
    })
}

/// A text in parts that have at most so many bytes as JSON strings.
fn chunks(text: &str, most: usize) -> Vec<&str> {
    // JSON text has no control characters but in escapes of its own, so that only these two grow.
    let encoded = |char: char| if matches!(char, '"' | '\\') { 2 } else { char.len_utf8() };
    let (mut chunks, mut start, mut bytes) = (Vec::new(), 0, 0);
    for (place, char) in text.char_indices() {
        if bytes + encoded(char) > most {
            chunks.push(&text[start..place]);
            (start, bytes) = (place, 0);
        }
        bytes += encoded(char);
    }
    chunks.push(&text[start..]);
    chunks
}

#[cfg(test)]
mod tests;
