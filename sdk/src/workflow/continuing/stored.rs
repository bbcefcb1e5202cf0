//! States that are too large for a workflow's input: chunks of their JSON, recorded one after
//! another.
//!
//! The number of chunks decides which activities are scheduled: a change here is a change of a rule
//! (see CONTRIBUTING.md). They are recorded one after another, because neither a workflow task nor
//! its response may be larger than 4 MB.
//!
//! # Design
//! **History alone says which state was kept.** Between the first chunk and the end of this
//! execution, another worker may process the workflow and encode the same state differently,
//! because its release does. So each chunk names the encoding that it is a part of, the activity's
//! result repeats this name, and the digest and number of chunks are those of the results. Chunks
//! of two different encodings cannot be combined; all chunks are then kept again, as
//! `<run>-keep-again-<n>-<m>`. Only the size of items and context decides whether a state goes into
//! the input, because every release measures these alike; an input that is too large because of the
//! rest is detected when it is made.

use std::{cell::Cell, rc::Rc, time::Duration};

use serde_json::Value;
use temporal_agents_core::{
    engine::TriedFor,
    tool::BoxError,
    wire::{
        RunState, WIRE_VERSION,
        carried::{
            KEEP_STATE_ACTIVITY, KeepStateReply, KeepStateRequest, KeptState, LOAD_STATE_ACTIVITY, LoadStateReply,
            LoadStateRequest, StateText,
        },
        digest::Digest,
    },
};
use temporalio_workflow::{ActivityCloseTimeouts, ActivityOptions, RetryPolicy, WorkflowCancellationToken};

use crate::workflow::{
    context::DurableContext,
    effect::{
        failure::{EffectFailure, NEVER_RETRIED, is_not_registered},
        json::JsonPayload,
        until_deployed::{Answered, Requirement, Unanswered, Wanted, with_activity_id},
    },
};

const ONE_ATTEMPT: Duration = Duration::from_mins(1);
const ALL_ATTEMPTS: Duration = Duration::from_hours(6);

/// The reason why a state was not kept or loaded.
pub(super) enum StoreError {
    Cancelled,
    /// The state exists, but this build cannot read it.
    Unreadable(BoxError),
    Failed(BoxError),
}

impl<E: Into<BoxError>> From<E> for StoreError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// No worker has registered the activity.
#[derive(Debug, thiserror::Error)]
#[error(
    "no worker on task queue {task_queue:?} has activity {activity}; install AgentsPlugin on the workers of the \
     workflow{tried_for}"
)]
struct NotInstalled {
    task_queue: String,
    activity: &'static str,
    tried_for: TriedFor,
    #[source]
    source: EffectFailure,
}

/// Maximum number of attempts to keep one state.
const MAX_STORE_ATTEMPTS: u32 = 10;

/// The run whose state is kept.
pub(super) struct StateWriter<'k> {
    pub(super) ctx: &'k Rc<dyn DurableContext>,
    /// Prefix of the run's activity ids.
    pub(super) run: &'k str,
    /// Number of times that the run has begun to keep its state in this execution.
    pub(super) series: &'k Cell<u32>,
    pub(super) agent: &'k str,
    pub(super) turn: u32,
    pub(super) token: &'k WorkflowCancellationToken,
}

impl StateWriter<'_> {
    /// Records the JSON of a state in the history of this execution.
    ///
    /// A worker that processes the workflow later (of another release, for example) may encode the
    /// same state differently from the chunks that are already in history. So only the replies
    /// decide what was kept, and how many chunks follow; if the chunks are of two encodings, all
    /// are kept again under other ids.
    pub(super) async fn keep(&self, text: &str, chunk_bytes: usize) -> Result<KeptState, StoreError> {
        let chunks = chunks(text, chunk_bytes);
        let count = u32::try_from(chunks.len()).unwrap_or(u32::MAX);
        let of = StateText { bytes: text.len() as u64, digest: Digest::of_text(text), chunks: count };
        for _ in 0..MAX_STORE_ATTEMPTS {
            if let Some(kept) = self.series(&chunks, &of).await? {
                return Ok(kept);
            }
        }
        Err("the state differs each time it is encoded; check the workflow for nondeterminism".into())
    }

    /// Records the chunks one after another under their own ids. Returns `None` if they are not all
    /// of one encoding.
    async fn series(&self, chunks: &[&str], of: &StateText) -> Result<Option<KeptState>, StoreError> {
        let series = self.series.replace(self.series.get() + 1);
        let mut activity_ids = Vec::new();
        let mut kept: Option<StateText> = None;
        loop {
            let number = activity_ids.len();
            let id = match series {
                0 => format!("{}-keep-{number}", self.run),
                again => format!("{}-keep-again-{again}-{number}", self.run),
            };
            // The encoding in history may have more chunks than this one.
            let chunk = chunks.get(number).copied().unwrap_or_default().to_owned();
            let request = KeepStateRequest { version: WIRE_VERSION, chunk, of: of.clone() };
            let summary = format!("{} · turn {} · keep a part of the run's state", self.agent, self.turn);
            let request = serde_json::to_value(request)?;
            let kept_by = call(self.ctx, KEEP_STATE_ACTIVITY, summary, &id, request, self.token).await?;
            let KeepStateReply { version: _, of: recorded } = kept_by.result.read("keep state reply")?;
            activity_ids.push(kept_by.activity_id);
            if *kept.get_or_insert_with(|| recorded.clone()) != recorded {
                return Ok(None);
            }
            let StateText { bytes, digest, chunks } = recorded;
            if activity_ids.len() >= chunks as usize {
                return Ok(Some(KeptState { run_id: self.ctx.run_id(), activity_ids, bytes, digest }));
            }
        }
    }
}

/// A state that was loaded. Its chunks are in this execution's history, as the results of
/// activities `<activity_id>-<n>`, or of those that were scheduled in their place
/// (`until_deployed.rs`).
pub(super) struct Loaded {
    pub(super) state: RunState,
    pub(super) activity_id: String,
    pub(super) chunks: usize,
}

/// Reads a state that another execution has kept.
pub(super) async fn load(
    ctx: &Rc<dyn DurableContext>,
    run: &str,
    agent: &str,
    kept: KeptState,
    token: &WorkflowCancellationToken,
) -> Result<Loaded, StoreError> {
    let KeptState { run_id, activity_ids, bytes, digest } = kept;
    let (mut text, chunks) = (String::new(), activity_ids.len());
    let loads = format!("{run}-state");
    for (number, activity_id) in activity_ids.into_iter().enumerate() {
        let id = format!("{loads}-{number}");
        let request = LoadStateRequest { version: WIRE_VERSION, run_id: run_id.clone(), activity_id };
        let summary = format!("{agent} · load a part of the run's state");
        let loaded = call(ctx, LOAD_STATE_ACTIVITY, summary, &id, serde_json::to_value(request)?, token).await?;
        let read = loaded.result.read("load state reply");
        let LoadStateReply { version: _, chunk } = read.map_err(|error| StoreError::Unreadable(error.into()))?;
        text.push_str(&chunk);
    }
    let found = Digest::of_text(&text);
    if found != digest {
        let error = format!(
            "the state loaded from run {run_id:?} differs from the stored one: expected {bytes} bytes, {digest}, \
             found {} bytes, {found}",
            text.len()
        );
        return Err(StoreError::Failed(error.into()));
    }
    let state = serde_json::from_str(&text).map_err(|error| {
        // JSON that is too deeply nested for serde_json: no build can read it.
        let is_too_deep = error.to_string().starts_with("recursion limit exceeded");
        if is_too_deep { StoreError::Failed(error.into()) } else { StoreError::Unreadable(error.into()) }
    })?;
    Ok(Loaded { state, activity_id: loads, chunks })
}

async fn call(
    ctx: &Rc<dyn DurableContext>,
    activity: &'static str,
    summary: String,
    id: &str,
    request: Value,
    token: &WorkflowCancellationToken,
) -> Result<Answered<JsonPayload>, StoreError> {
    let times =
        ActivityCloseTimeouts::ScheduleAndStartToClose { start_to_close: ONE_ATTEMPT, schedule_to_close: ALL_ATTEMPTS };
    let options = ActivityOptions::with_close_timeouts(times)
        .activity_id(id)
        .cancellation_token(token.clone())
        .retry_policy(RetryPolicy::builder().non_retryable_error_types(NEVER_RETRIED).build())
        .summary(summary)
        .build();
    let wanted = Wanted { ctx, id, what: Requirement::Activity(activity), longest: None, token };
    let schedule = |id| ctx.state_activity(activity, request.clone(), with_activity_id(&options, id));
    match wanted.answer(schedule).await {
        Ok(answered) => Ok(answered),
        Err(Unanswered::Cancelled) => Err(StoreError::Cancelled),
        Err(Unanswered::Failed(failure, tried_for)) if is_not_registered(&failure) => {
            let (task_queue, source) = (ctx.task_queue(), EffectFailure::new(failure));
            let error = NotInstalled { task_queue, activity, tried_for: TriedFor(tried_for), source };
            Err(StoreError::Failed(Box::new(error)))
        }
        Err(Unanswered::Failed(failure, tried_for)) => {
            Err(StoreError::Failed(Box::new(EffectFailure::after(failure, tried_for))))
        }
    }
}

/// Splits a string into parts that have at most `most` bytes each as JSON strings.
fn chunks(text: &str, most: usize) -> Vec<&str> {
    // JSON contains control characters only as escape sequences, so that only these two characters
    // grow.
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
