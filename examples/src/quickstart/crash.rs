//! Kills the worker twice with SIGKILL, and proves from the history that nothing was lost and nothing ran twice.
//!
//! The first kill is between two calls: the worker is delayed there, then frozen, examined, and
//! killed only if no call is in progress. The second kill is during a model call. Each time another
//! worker process continues the run.

use std::{collections::BTreeSet, time::Duration};

use temporal_agents::client::event_lines::EventWriter;
use temporal_agents_testing::{
    DevServer,
    environment::{ActivityOutcome, ActivityRecord, activities},
    history,
};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::{enums::v1::PendingActivityState, workflow::v1::PendingActivityInfo};
use tokio::time::{Instant, sleep};

use super::worker::{self, Pace};
use crate::stage::{process::WorkerProcess, server::pending};

/// Deadline of both kills, long enough for a slow machine; the whole demonstration takes some 15
/// seconds.
const PATIENCE: Duration = Duration::from_secs(50);
const LOOK: Duration = Duration::from_millis(5);

/// Delays of the scripted model and the tools, long enough to kill the worker during a call.
pub const PACE: Pace =
    Pace { model: Duration::from_millis(1200), tool: Duration::from_millis(400), hesitation: Duration::ZERO };
/// Delays of the worker that is killed between two calls. Twice the hesitation, for two tools, is
/// less than the workflow task's timeout.
const HESITANT: Pace = Pace { hesitation: Duration::from_millis(800), ..PACE };

/// The state of the run when a worker was killed.
#[derive(Debug)]
pub struct Kill {
    /// Ids of the activities that had completed.
    pub completed: BTreeSet<String>,
    /// Ids of the activities in progress.
    pub in_flight: BTreeSet<String>,
}

/// Kills two workers of the running workflow and leaves a third one working. The writer is that of
/// the run's events.
///
/// # Errors
/// No suitable moment for a kill comes in time.
pub async fn kill_twice(
    server: &DevServer,
    client: &Client,
    workflow_id: &str,
    writer: &EventWriter,
) -> anyhow::Result<(Vec<Kill>, WorkerProcess)> {
    let spawn = |pace| worker::spawn(&server.target_url(), server.namespace(), pace);
    let deadline = Instant::now() + PATIENCE;

    let worker = spawn(HESITANT)?;
    writer.line(&format!("* worker 1 is process {}", worker.pid()))?;
    let first = between_two_calls(&worker, client, workflow_id, deadline).await?;
    writer.line("* SIGKILL for worker 1, between two calls")?;
    worker.kill()?;

    let worker = spawn(PACE)?;
    writer.line(&format!("* worker 2 is process {}", worker.pid()))?;
    let second = during_a_model_call(client, workflow_id, deadline).await?;
    writer.line("* SIGKILL for worker 2, during a model call")?;
    worker.kill()?;

    let worker = spawn(PACE)?;
    writer.line(&format!("* worker 3 is process {}", worker.pid()))?;
    Ok((vec![first, second], worker))
}

/// Waits until a call has completed and none is in progress. The worker is frozen then.
async fn between_two_calls(
    worker: &WorkerProcess,
    client: &Client,
    workflow_id: &str,
    deadline: Instant,
) -> anyhow::Result<Kill> {
    let mut completed_before = BTreeSet::new();
    loop {
        anyhow::ensure!(Instant::now() < deadline, "no moment between two calls came in time");
        let completed = completed(client, workflow_id).await?;
        if completed.len() > completed_before.len() {
            completed_before = completed;
            worker.freeze()?;
            // Requests that the worker sent before the freeze may still arrive.
            sleep(Duration::from_millis(200)).await;
            // No activity is in progress, and none is queued that the frozen worker could receive.
            if pending(client, workflow_id).await?.is_empty() {
                let completed = self::completed(client, workflow_id).await?;
                return Ok(Kill { completed, in_flight: BTreeSet::new() });
            }
            worker.thaw()?;
        }
        sleep(LOOK).await;
    }
}

/// Waits until a model call is in progress, other than the completed ones.
async fn during_a_model_call(client: &Client, workflow_id: &str, deadline: Instant) -> anyhow::Result<Kill> {
    loop {
        anyhow::ensure!(Instant::now() < deadline, "no model call to kill came in time");
        let is_model_call = |activity: &&PendingActivityInfo| {
            let kind = activity.activity_type.as_ref().map(|kind| kind.name.as_str());
            kind == Some(temporal_agents::wire::MODEL_ACTIVITY) && is_started(activity)
        };
        let pending = pending(client, workflow_id).await?;
        if let Some(call) = pending.iter().find(is_model_call) {
            let in_flight = BTreeSet::from([call.activity_id.clone()]);
            return Ok(Kill { completed: completed(client, workflow_id).await?, in_flight });
        }
        sleep(LOOK).await;
    }
}

/// Checks the finished history against the state at the kills, and prints its activities.
///
/// # Errors
/// A call that had completed ran again, or the call in progress did not have exactly one more
/// attempt.
pub fn prove(records: &[ActivityRecord], kills: &[Kill]) -> anyhow::Result<()> {
    println!("\n{:<22} {:<26} attempts", "activity", "type");
    let in_flight: BTreeSet<&String> = kills.iter().flat_map(|kill| &kill.in_flight).collect();
    let mut wrong = Vec::new();
    for record in records {
        println!("{:<22} {:<26} {}", record.activity_id, record.activity_type, record.attempts);
        let expected = if in_flight.contains(&record.activity_id) { 2 } else { 1 };
        if record.attempts != expected || record.outcome != ActivityOutcome::Completed {
            wrong.push(format!(
                "{} ended {:?} at attempt {}, expected Completed at attempt {expected}",
                record.activity_id, record.outcome, record.attempts
            ));
        }
    }
    for (index, kill) in kills.iter().enumerate() {
        let lost: Vec<_> = kill.completed.iter().filter(|id| !records.iter().any(|r| r.activity_id == **id)).collect();
        anyhow::ensure!(lost.is_empty(), "history lost {lost:?} after kill {}", index + 1);
    }
    anyhow::ensure!(!in_flight.is_empty(), "no call was under way at any kill");
    anyhow::ensure!(wrong.is_empty(), "the crash cost more than it may:\n{}", wrong.join("\n"));
    println!(
        "Proven. Finished before a kill, and run once: {}. Under way at a kill, and run a second time: {}.",
        kills.iter().flat_map(|kill| &kill.completed).collect::<BTreeSet<_>>().len(),
        in_flight.len()
    );
    Ok(())
}

fn is_started(activity: &PendingActivityInfo) -> bool {
    activity.state() == PendingActivityState::Started
}

/// Returns the ids of the activities that have completed.
async fn completed(client: &Client, workflow_id: &str) -> anyhow::Result<BTreeSet<String>> {
    let records = activities(&history::fetch(client, workflow_id, None).await?);
    let done = |record: &ActivityRecord| record.outcome == ActivityOutcome::Completed;
    Ok(records.into_iter().filter(done).map(|record| record.activity_id).collect())
}
