//! The attempts at activities that have not ended, from the server's description of the workflow.

use std::time::SystemTime;

use serde_json::Value;
use temporal_agents_core::wire::{
    EventKind, RunEvent, decode,
    delta_window::{DELTA_FORMAT, DeltaWindow, SESSION_DELTAS},
    session_checkpoint::SESSION_FORMAT,
    tool_batch::{BatchedFailure, BatchedOutcome, TOOLS_UNFINISHED, ToolBatchDetails, calls_in},
};
use temporalio_client::{Client, NamespacedClient};
use temporalio_common::protos::temporal::api::{common::v1::Payloads, workflow::v1::PendingActivityInfo};

use super::{RunEventsError, outside::HeldDeltas, pages::described, sessions::decoded};
use crate::{
    client::history::{self, Kind},
    events::{CallOfRun, Role, delta_of, lineage, rfc3339},
};

/// Returns the attempts at model calls and tool calls, as deltas.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn attempts(client: &Client, workflow_id: &str) -> Result<Vec<RunEvent>, RunEventsError> {
    let open = open_attempts(client, workflow_id).await?.attempts.into_iter();
    Ok(open.filter(|open| !open.is_of_session).map(|open| open.event).collect())
}

/// The attempts of the latest execution of a workflow.
pub(super) struct OpenAttempts {
    /// Temporal's run id of the execution.
    pub(super) execution: String,
    pub(super) attempts: Vec<OpenAttempt>,
}

/// An attempt at a call that has not ended.
#[derive(Clone, Debug)]
pub(super) struct OpenAttempt {
    /// `true` for a model call.
    pub(super) is_model: bool,
    /// `true` for a call of an agentic session, and for an activity that may be one: without
    /// `call`.
    pub(super) is_of_session: bool,
    /// Id of the call, from which the ids of its facts are made.
    pub(super) call: String,
    /// The attempt as a delta.
    pub(super) event: RunEvent,
    /// The deltas in its heartbeat.
    pub(super) window: Option<DeltaWindow>,
    /// The deltas that were read outside of Temporal.
    pub(super) outside: HeldDeltas,
}

/// The place that a call has reached: attempt, failure, and number of deltas in its heartbeat.
pub(super) type Reached = (String, u32, bool, u64);

impl OpenAttempt {
    /// Returns the attempt of a window in the heartbeat of a session. Its deltas name the call.
    fn in_session(window: DeltaWindow) -> Option<Self> {
        let delta = window.deltas.first()?;
        let call = delta_of(&delta.id)?.0.to_owned();
        let effect = call.rsplit('/').next().unwrap_or_default().to_owned();
        let is_model = effect.ends_with("-model");
        let kind = EventKind::AttemptDelta { effect, attempt: window.attempt, failure: None, next_at: None };
        let mut event = RunEvent::new(kind);
        (event.run, event.path) = (delta.run.clone(), delta.path.clone());
        (event.agent, event.turn) = (delta.agent.clone(), delta.turn);
        event.time = rfc3339(SystemTime::now());
        Some(Self { is_model, is_of_session: true, call, event, window: Some(window), outside: HeldDeltas::default() })
    }

    /// Returns the stand-in for an activity that may be a session and has no deltas yet, so that
    /// readers ask for it again.
    fn none_in_session() -> Self {
        let kind = EventKind::AttemptDelta { effect: String::new(), attempt: 0, failure: None, next_at: None };
        let event = RunEvent::new(kind);
        let (call, outside) = (String::new(), HeldDeltas::default());
        Self { is_model: false, is_of_session: true, call, event, window: None, outside }
    }

    /// Returns `true` for a model call whose model has sent nothing yet.
    pub(super) fn awaits_first_token(&self) -> bool {
        let is_beginning = |event: &RunEvent| matches!(event.kind, EventKind::AttemptDelta { .. });
        let has_none = |window: &DeltaWindow| window.first == 0 && window.deltas.iter().all(is_beginning);
        self.is_model && self.window.as_ref().is_none_or(has_none)
    }

    /// Returns the place that the call has reached.
    pub(super) fn place(&self) -> Reached {
        let (attempt, has_failed) = match &self.event.kind {
            EventKind::AttemptDelta { attempt, failure, .. } => (*attempt, failure.is_some()),
            _ => (0, false),
        };
        let deltas = self.window.as_ref().map_or(0, |window| window.first + window.deltas.len() as u64);
        (self.call.clone(), attempt, has_failed, deltas)
    }
}

/// Returns the attempts at model calls and tool calls, with their deltas.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn open_attempts(client: &Client, workflow_id: &str) -> Result<OpenAttempts, RunEventsError> {
    let mut attempts = Vec::new();
    let described = described(client, workflow_id, None).await?;
    let info = described.workflow_execution_info.unwrap_or_default();
    let execution = info.execution.unwrap_or_default().run_id;
    for activity in described.pending_activities {
        let activity_type = activity.activity_type.as_ref().map_or("", |kind| &*kind.name);
        match Kind::of(activity_type) {
            Some(Kind::Model | Kind::Tool) => {}
            Some(Kind::ToolBatch) => {
                attempts.extend(of_batch(client, activity).await);
                continue;
            }
            Some(_) => continue,
            None => {
                attempts.extend(of_session(client, activity.heartbeat_details).await);
                continue;
            }
        }
        let Some(CallOfRun { place, effect, id: call }) = CallOfRun::of(&activity.activity_id) else { continue };
        let (Role::Model { turn } | Role::Tool { turn, .. }) = place.role else { continue };
        let failure = match activity.last_failure {
            Some(failure) => Some(history::failure(client.data_converter(), failure).await),
            None => None,
        };
        let effect = effect.to_owned();
        // A failure is that of the attempt before the one that the server counts.
        let current = u32::try_from(activity.attempt).unwrap_or_default();
        let attempt = if failure.is_some() { current.saturating_sub(1) } else { current };
        let next_at = activity.next_attempt_schedule_time.map(|time| time.to_string());
        let (root, path) = lineage(place.run);
        let window = match activity.heartbeat_details {
            Some(details) => window(client, details).await,
            None => None,
        };
        let mut event = RunEvent::new(EventKind::AttemptDelta { effect, attempt, failure, next_at });
        (event.run, event.path, event.turn) = (root, path, turn);
        event.time = rfc3339(SystemTime::now());
        let is_model = matches!(place.role, Role::Model { .. });
        let outside = HeldDeltas::default();
        attempts.push(OpenAttempt { is_model, is_of_session: false, call, event, window, outside });
    }
    Ok(OpenAttempts { execution, attempts })
}

/// Returns the calls of a batch that have not ended.
async fn of_batch(client: &Client, activity: PendingActivityInfo) -> Vec<OpenAttempt> {
    let failure = match activity.last_failure {
        Some(failure) => Some(history::failure(client.data_converter(), failure).await),
        None => None,
    };
    // Each call that is made again has a failure of its own.
    let failure = failure.filter(|failure| failure.type_name != TOOLS_UNFINISHED);
    let json = match activity.heartbeat_details {
        Some(details) => decoded(client, details).await,
        None => None,
    };
    let details = json.and_then(|json| ToolBatchDetails::read(json.to_string().as_bytes()));
    let ToolBatchDetails { format: _, version: _, outcomes, mut deltas } =
        details.unwrap_or_else(|| ToolBatchDetails::new(Vec::new()));
    let current = u32::try_from(activity.attempt).unwrap_or_default();
    let next_at = activity.next_attempt_schedule_time.map(|time| time.to_string());
    let mut attempts = Vec::new();
    for (index, id) in calls_in(&activity.activity_id) {
        let outcome = outcomes.iter().find(|outcome| outcome.index == index);
        let Some(CallOfRun { place, effect, id: call }) = CallOfRun::of(&id) else { continue };
        let (Role::Tool { turn, .. }, true) = (place.role, outcome.is_none_or(BatchedOutcome::is_retried)) else {
            continue;
        };
        let own = outcome.and_then(|outcome| outcome.failure.as_ref()).map(BatchedFailure::recorded);
        let failure = own.or_else(|| failure.clone());
        let attempt = if failure.is_some() { current.saturating_sub(1) } else { current };
        let (effect, next_at) = (effect.to_owned(), next_at.clone());
        let mut event = RunEvent::new(EventKind::AttemptDelta { effect, attempt, failure, next_at });
        (event.run, event.path) = lineage(place.run);
        (event.turn, event.time) = (turn, rfc3339(SystemTime::now()));
        let place = deltas.iter().position(|deltas| deltas.index == index);
        let window = place.map(|place| deltas.swap_remove(place).window);
        let outside = HeldDeltas::default();
        attempts.push(OpenAttempt { is_model: false, is_of_session: false, call, event, window, outside });
    }
    attempts
}

/// Returns the calls of an agentic session that have deltas, or one without an id if there are none
/// yet: the activity may be a session. Empty for another activity.
async fn of_session(client: &Client, details: Option<Payloads>) -> Vec<OpenAttempt> {
    let mut windows = Vec::new();
    if let Some(details) = details {
        let Some(mut json) = decoded(client, details).await else { return Vec::new() };
        if json.get("format").and_then(Value::as_str) != Some(SESSION_FORMAT) {
            return Vec::new();
        }
        if let Some(Value::Array(found)) = json.get_mut(SESSION_DELTAS).map(Value::take) {
            windows = found.into_iter().filter_map(|window| decode("delta window", window).ok()).collect();
        }
    }
    let calls: Vec<OpenAttempt> = windows.into_iter().filter_map(OpenAttempt::in_session).collect();
    if calls.is_empty() { vec![OpenAttempt::none_in_session()] } else { calls }
}

/// Decodes the deltas in the details of a heartbeat; `None` if they are no deltas that this build
/// reads.
async fn window(client: &Client, details: Payloads) -> Option<DeltaWindow> {
    let json = decoded(client, details).await?;
    let is_ours = json.get("format").and_then(Value::as_str) == Some(DELTA_FORMAT);
    if is_ours { decode("delta window", json).ok() } else { None }
}
