//! The attempts at activities that have not ended, from the server's description of the workflow.

use std::time::SystemTime;

use temporalio_client::{Client, NamespacedClient};

use super::{RunEventsError, pages::described};
use crate::{
    client::history::{self, Kind},
    events::{Place, Role, lineage, rfc3339},
    wire::{EventKind, RunEvent},
};

/// Returns the attempts at model calls and tool calls, as deltas.
///
/// # Errors
/// [`RunEventsError`] when the server refuses the request.
pub(super) async fn attempts(client: &Client, workflow_id: &str) -> Result<Vec<RunEvent>, RunEventsError> {
    let mut attempts = Vec::new();
    for activity in described(client, workflow_id, None).await?.pending_activities {
        let activity_type = activity.activity_type.unwrap_or_default().name;
        if !matches!(Kind::of(&activity_type), Some(Kind::Model | Kind::Tool)) {
            continue;
        }
        let Some(Place { run, role: Role::Model { turn } | Role::Tool { turn, .. } }) =
            Place::of(&activity.activity_id)
        else {
            continue;
        };
        let failure = match activity.last_failure {
            Some(failure) => Some(history::failure(client.data_converter(), failure).await),
            None => None,
        };
        let effect = activity.activity_id[run.len()..].trim_start_matches('-').to_owned();
        // A failure is that of the attempt before the one that the server counts.
        let current = u32::try_from(activity.attempt).unwrap_or_default();
        let attempt = if failure.is_some() { current.saturating_sub(1) } else { current };
        let next_at = activity.next_attempt_schedule_time.map(|time| time.to_string());
        let (root, path) = lineage(run);
        let mut event = RunEvent::new(EventKind::AttemptDelta { effect, attempt, failure, next_at });
        (event.run, event.path, event.turn) = (root, path, turn);
        event.time = rfc3339(SystemTime::now());
        attempts.push(event);
    }
    Ok(attempts)
}
