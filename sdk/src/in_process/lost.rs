//! The tasks of a process that has died, in the process that takes them over.
//!
//! A run that waits continues. A run that has not begun begins. A run that was under way has failed:
//! its tools may have taken effect, and nothing says which. The message of a chat has failed with its run; the chat continues.

use std::{sync::Arc, time::SystemTime};

use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent, RunStatus, ready_made::ChatOutcome};

use super::{
    chat,
    rows::{self, Task},
    runs::{Process, Settings},
    task::Owned,
    writer::{Entry, end_now, short_id},
};
use crate::{events::rfc3339, store::SqlStoreError};

/// Type of the failure in the events.
const PROCESS_LOST: &str = "ProcessLost";
const LOST: &str = "the process that ran it has ended; start another run, because its tools may have taken effect";
const STOPPED: &str = "the process that ran it was stopped before the run had ended";

/// Takes a task over that this process has claimed.
///
/// # Errors
/// The store fails; the task is then claimed, and is taken over when this process has died.
pub(super) async fn take_over(process: &Arc<Process>, task: Task) -> Result<(), SqlStoreError> {
    if task.paused.is_some() || task.may_begin() {
        return process.take_up(task).await;
    }
    let owned = Owned::new(&process.settings, &task, task.inbox.clone(), Vec::new());
    fail(&process.settings, &owned, &task, LOST).await?;
    if !task.is_chat() {
        return Ok(());
    }
    // Its other messages are answered.
    if owned.log.flush().await
        && let Some(task) = rows::find(&process.settings.store, &task.key).await?
    {
        process.take_up(task).await?;
    }
    Ok(())
}

/// Leaves a task that this process stops, or fails it if it is under way.
pub(super) async fn stop(process: &Process, owned: &Owned) -> Result<(), SqlStoreError> {
    // A pause or an end may not be written yet; without it, the row says that the run is under way.
    if !owned.log.flush().await {
        return Ok(());
    }
    let Some(task) = rows::find(&process.settings.store, &owned.key).await? else { return Ok(()) };
    // It has ended, or was left.
    if task.owner != process.settings.process {
        return Ok(());
    }
    // Another process begins it, after a lease.
    if task.may_begin() {
        return Ok(());
    }
    if task.paused.is_none() {
        fail(&process.settings, owned, &task, STOPPED).await?;
    }
    // A task that is left has no owner until somebody decides or writes; a question that expires
    // needs one. Its task stays with this process, and another takes it over after a lease.
    if (task.paused.is_some() || task.is_chat()) && !expires(&task) {
        owned.log.leave().await;
    }
    owned.log.flush().await;
    Ok(())
}

/// Returns `true` if a question of the run that waits expires.
fn expires(task: &Task) -> bool {
    let expiries = task.paused.as_ref().and_then(|paused| paused.pointer("/state/expiries")?.as_object());
    expiries.is_some_and(|expiries| !expiries.is_empty())
}

async fn fail(settings: &Settings, owned: &Owned, task: &Task, reason: &str) -> Result<(), SqlStoreError> {
    let failure = RecordedFailure::new(PROCESS_LOST, reason);
    let answers = owned.chat().is_some_and(|chat| chat.current.is_some());
    owned.log.hold();
    // Nobody waits for the questions of a run that has failed.
    owned.inbox.abandon_runs();
    owned.log.push(Entry::Inbox);
    if !task.is_chat() || answers {
        let latest = rows::latest_of_root(&settings.store, &task.run.key).await?;
        let end = EventKind::RunFailed { failure: failure.clone(), usage: None };
        if let Some(event) = ended(task, latest, end) {
            owned.log.event(&event);
        }
    }
    if task.is_chat() {
        owned.log.push(Entry::Paused(None));
        let outcome = ChatOutcome::Failed { reason: reason.to_owned() };
        // The store has the turns that the lost process has completed: the next message reads them.
        let conversation = task.run.thread.is_some().then(Vec::new);
        chat::conclude(owned, conversation, outcome, None);
        return Ok(());
    }
    owned.log.push(Entry::End(Box::new(end_now(RunStatus::Failed, None, Some(failure)))));
    owned.log.flush().await;
    Ok(())
}

/// Returns the end of the run that was open: that of the latest fact of an outermost run. `None` in
/// a chat whose latest run has ended.
fn ended(task: &Task, latest: Option<RunEvent>, kind: EventKind) -> Option<RunEvent> {
    let time = rfc3339(SystemTime::now());
    match latest {
        Some(fact) if !fact.kind.ends_the_run() => {
            let id = format!("{}/ended", fact.run);
            Some(RunEvent { id, run: fact.run, agent: fact.agent, turn: fact.turn, time, ..RunEvent::new(kind) })
        }
        _ if task.is_chat() => None,
        _ => {
            let id = format!("workflow~{}/ended", short_id(&task.run.key));
            Some(RunEvent { id, time, ..RunEvent::new(kind) })
        }
    }
}
