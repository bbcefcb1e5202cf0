//! The loops of a process: it reads its mail, beats, and notices processes that have died.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use sqlx::Row as _;
use tokio::time::{Instant, sleep, timeout};

use super::{
    lost,
    mail::{self, Mail, Received},
    rows,
    runs::{Process, Settings},
    task::Owned,
};
use crate::store::SqlStoreError;

/// The interval between two looks for mail.
const MAIL_INTERVAL: Duration = Duration::from_millis(100);
/// The longest time that tasks have to stop: the bodies of tools have a grace period.
const LONGEST_STOP: Duration = Duration::from_secs(15);
/// The pause between two looks at tasks that are to end.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// Starts the loops of a process. They end when it is dropped.
pub(super) fn begin(process: &Arc<Process>) {
    tokio::spawn(read_mail(Arc::downgrade(process)));
    tokio::spawn(beat(Arc::downgrade(process)));
}

async fn read_mail(process: Weak<Process>) {
    loop {
        let Some(process) = process.upgrade() else { return };
        if process.has_tasks() {
            match mail::unanswered(&process.settings.store, &process.settings.process).await {
                Ok(mails) => deliver(mails, |task| process.owned(task)),
                Err(error) => tracing::warn!(%error, "the mail of runs cannot be read yet"),
            }
        }
        let posted = process.posted.notified();
        // Mail of this process is read at once.
        let _ = timeout(MAIL_INTERVAL, posted).await;
    }
}

/// Passes mail on to its tasks, each in order: only a cancellation overtakes a mail that its task
/// puts off.
pub(super) fn deliver(mails: Vec<Received>, owned: impl Fn(&str) -> Option<Arc<Owned>>) {
    let mut put_off = BTreeSet::new();
    for received in mails {
        let task = received.task.clone();
        let may_pass = matches!(received.mail, Mail::Cancel) || !put_off.contains(&task);
        if may_pass && owned(&task).is_some_and(|owned| !owned.receive(received)) {
            put_off.insert(task);
        }
    }
}

/// Beats several times within the lease, and looks at the beats of others.
async fn beat(process: Weak<Process>) {
    let mut others = Others::default();
    let mut latest = Instant::now();
    loop {
        let Some(process) = process.upgrade().filter(|process| !process.has_stopped.load(Ordering::Relaxed)) else {
            return;
        };
        let settings = &process.settings;
        let begun = Instant::now();
        match timeout(settings.lease / 3, add_beat(settings)).await {
            Ok(Ok(())) => latest = begun,
            Ok(Err(error)) => tracing::warn!(%error, "the heartbeat of this process cannot be written"),
            Err(_) => tracing::warn!("the store does not answer to the heartbeat of this process"),
        }
        if latest.elapsed() > settings.lease {
            // Others take its tasks over by now.
            process.all().iter().for_each(|owned| owned.stopped.cancel());
        } else if !process.is_stopping() {
            match timeout(settings.lease / 3, others.look(&process)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the heartbeats of other processes cannot be read"),
                Err(_) => tracing::warn!("the store does not answer who owns runs"),
            }
        }
        let interval = settings.lease / 6;
        drop(process);
        sleep(interval).await;
    }
}

async fn add_beat(settings: &Settings) -> Result<(), SqlStoreError> {
    let statement = "INSERT INTO agents_processes (process, beat) VALUES ($1, 1) ON CONFLICT (process) DO UPDATE SET \
                     beat = agents_processes.beat + 1";
    sqlx::query(statement).bind(&*settings.process).execute(settings.store.pool()).await?;
    Ok(())
}

/// The beats of other processes, and since when they have been the same.
#[derive(Default)]
struct Others {
    beats: BTreeMap<String, (i64, Instant)>,
    /// The tasks that this process owns in the store and does not run, and since when: it has lost
    /// them to a store that was unavailable, and nobody else takes them over.
    left: BTreeMap<String, Instant>,
}

impl Others {
    /// Takes over the tasks of processes that have died.
    async fn look(&mut self, process: &Arc<Process>) -> Result<(), SqlStoreError> {
        let Settings { store, process: own, lease, .. } = &process.settings;
        let open = rows::owned_by_others(store, own).await?;
        let rows = sqlx::query("SELECT process, beat FROM agents_processes").fetch_all(store.pool()).await?;
        let mut beats = BTreeMap::new();
        for row in &rows {
            beats.insert(row.try_get::<String, _>("process")?, row.try_get::<i64, _>("beat")?);
        }
        // One that owns tasks and has no row has not beaten yet, or was shut down.
        for (owner, _) in &open {
            beats.entry(owner.clone()).or_default();
        }
        self.beats.retain(|other, _| beats.contains_key(other));
        for (other, beat) in beats {
            let (known, since) = self.beats.entry(other).or_insert_with(|| (beat, Instant::now()));
            if *known != beat {
                (*known, *since) = (beat, Instant::now());
            }
        }
        for (owner, key) in open {
            if self.silence(&owner) <= *lease {
                continue;
            }
            let _locked = process.lock_task(&key).await;
            let Some(task) = rows::claim(store, &key, &owner, own).await? else { continue };
            tracing::warn!(id = task.run.id, owner, "the process of a run has died; this process takes it over");
            if let Err(error) = lost::take_over(process, task).await {
                // It is tried again.
                rows::claim(store, &key, own, &owner).await?;
                return Err(error);
            }
        }
        self.look_at_own(process).await?;
        let forgotten: Vec<String> =
            self.beats.keys().filter(|other| self.silence(other) > *lease * 10).cloned().collect();
        for other in forgotten.iter().filter(|other| *other != own) {
            let statement = "DELETE FROM agents_processes WHERE process = $1";
            sqlx::query(statement).bind(other).execute(store.pool()).await?;
        }
        Ok(())
    }

    /// Takes over the tasks of this process that it has not run for a whole lease.
    async fn look_at_own(&mut self, process: &Arc<Process>) -> Result<(), SqlStoreError> {
        let Settings { store, process: own, lease, .. } = &process.settings;
        let mut keys = rows::owned_by(store, own).await?;
        keys.retain(|key| process.owned(key).is_none());
        self.left.retain(|key, _| keys.contains(key));
        for key in keys {
            let since = *self.left.entry(key.clone()).or_insert_with(Instant::now);
            if since.elapsed() <= *lease {
                continue;
            }
            let _locked = process.lock_task(&key).await;
            if process.owned(&key).is_none()
                && let Some(task) = rows::find(store, &key).await?
                && task.owner == *own
            {
                tracing::warn!(id = task.run.id, "a run was lost to a store that was unavailable; it is taken over");
                lost::take_over(process, task).await?;
            }
        }
        Ok(())
    }

    /// Returns the time for which a process has not beaten.
    fn silence(&self, other: &str) -> Duration {
        self.beats.get(other).map(|(_, since)| since.elapsed()).unwrap_or_default()
    }
}

/// Stops the tasks of a process: waits for those under way, leaves those that wait.
pub(super) async fn shut_down(process: &Arc<Process>, grace: Duration) {
    process.is_stopping.store(true, Ordering::Relaxed);
    // Another process begins these.
    process.all().iter().filter(|owned| !owned.has_begun()).for_each(|owned| owned.stopped.cancel());
    let deadline = Instant::now() + grace;
    loop {
        let is_under_way = process.all().iter().any(|owned| owned.has_begun() && !owned.waits());
        if !is_under_way || Instant::now() >= deadline {
            break;
        }
        sleep(STOP_INTERVAL).await;
    }
    process.all().iter().for_each(|owned| owned.stopped.cancel());
    let stopped = async {
        while process.has_tasks() {
            sleep(STOP_INTERVAL).await;
        }
    };
    if timeout(LONGEST_STOP, stopped).await.is_err() {
        tracing::warn!("some runs cannot be stopped now; another process takes them over");
    }
    process.has_stopped.store(true, Ordering::Relaxed);
    let statement = "DELETE FROM agents_processes WHERE process = $1";
    let removed = sqlx::query(statement).bind(&*process.settings.process).execute(process.settings.store.pool()).await;
    if let Err(error) = removed {
        tracing::warn!(%error, "the row of this process cannot be removed");
    }
}
