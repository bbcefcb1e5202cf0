//! The facts and the row of a task that this process owns, on their way to the store.
//!
//! # Design
//! **One writer, in order.** All that a task does goes through one queue: facts, answers to mail,
//! pauses, its end. The writer takes what is there and writes it in one transaction, so that a
//! reader who sees an answer also sees the facts before it.
//!
//! **What belongs together is written together.** A reader who sees the fact of a pause or of an
//! end acts on it at once: it must see the questions, the chat and the answers that came with it
//! ([`RunLog::hold`]).
//!
//! **A fence.** Each transaction begins with an update of the row that only the owner of this execution can
//! make. A
//! process whose task has another owner writes nothing more, and cancels the task.
//!
//! **A write has an id,** which the fence leaves in the row. A connection may break after the
//! database has committed and before its answer: the next attempt finds the id, and the batch counts
//! as written.
//!
//! **If the store is unavailable,** the write is tried for as long as the lease lasts. Then another
//! process takes the task over, and it ends here.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use serde_json::Value;
use sqlx::Row as _;
use temporal_agents_core::wire::{EventKind, RecordedFailure, RunEvent, RunStatus};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{broker::DeltaPublisher, hub::Hub, inbox::TaskInbox, mail, rows};
use crate::{
    store::{
        SqlStore, SqlStoreError,
        sql::{
            Transaction,
            runs::{NewEvents, RunEnd, RunRow, append, is_stored, millis, row_after},
        },
    },
    workflow::Chat,
};

/// Maximum number of elements of the queue in one transaction.
const MAX_BATCH: usize = 256;
/// Number of entries in the queue from which on deltas are dropped.
const MAX_QUEUED: usize = 4_096;
/// Number of attempts to write within the lease, if the store does not answer.
const ATTEMPTS_IN_LEASE: u32 = 3;
/// The pauses between two attempts to write.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A part of what a task does.
#[derive(Debug)]
pub(super) enum Entry {
    Event(Box<RunEvent>),
    /// The answer to the mail with this key.
    Answer {
        mail: String,
        answer: Value,
    },
    /// The first effect of the task is about to be made.
    Begun,
    /// The specs of the task's agents were loaded: their record, as JSON.
    Specs(String),
    /// The run waits, or continues.
    Paused(Option<Box<Value>>),
    /// The end of the task.
    End(Box<RunEnd>),
    /// The inbox has changed.
    Inbox,
    /// The chat has changed: its data, as JSON.
    Chat(String),
    /// The task has nothing to do: leaves it, unless a mail waits. Returns `true` if it was left.
    Leave(oneshot::Sender<bool>),
    /// Everything before is to be written.
    Flush(oneshot::Sender<()>),
}

/// The queue of a task. Its elements are entries that are written together.
#[derive(Clone, Debug)]
pub(super) struct RunLog {
    entries: UnboundedSender<Vec<Entry>>,
    queued: Arc<AtomicUsize>,
    /// The entries that are held back, from the first to the last that belongs to them.
    held: Arc<Mutex<Option<Vec<Entry>>>>,
}

/// The end of a writer that is no longer the owner.
struct Lost;

impl RunLog {
    /// Starts the writer of a task. It ends when the last clone of the log is dropped; `lost` is
    /// cancelled if the task belongs to another process by then.
    pub(super) fn start(writing: Writing) -> Self {
        let (entries, received) = unbounded_channel();
        let queued = Arc::new(AtomicUsize::new(0));
        tokio::spawn(writing.run(received, Arc::clone(&queued)));
        Self { entries, queued, held: Arc::default() }
    }

    /// Adds an event. A delta is dropped if the queue is long, and if it only says that the first
    /// attempt of a call begins: the fact that the call was scheduled says that.
    pub(super) fn event(&self, event: &RunEvent) {
        let begins = matches!(event.kind, EventKind::AttemptDelta { attempt: 1, failure: None, .. });
        let is_dropped = event.is_delta() && event.id.is_empty();
        if is_dropped && (begins || self.queued.load(Ordering::Relaxed) > MAX_QUEUED) {
            return;
        }
        self.push(Entry::Event(Box::new(event.clone())));
    }

    /// Adds a change of the chat, which the caller has locked: what is written with it must not
    /// lag behind.
    pub(super) fn chat(&self, chat: &Chat) {
        self.push(Entry::Chat(rows::json_of(chat)));
    }

    /// Returns `true` while entries are held back.
    pub(super) fn is_holding(&self) -> bool {
        self.held().is_some()
    }

    /// Holds back all that is pushed, until [`release`](Self::release). What somebody waits for
    /// and the end of the task also release it.
    pub(super) fn hold(&self) {
        self.held().get_or_insert_default();
    }

    /// Passes on what was held back, to be written together.
    pub(super) fn release(&self) {
        let mut held = self.held();
        if let Some(entries) = held.take() {
            self.pass_on(entries);
        }
    }

    pub(super) fn push(&self, entry: Entry) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        let releases = matches!(entry, Entry::End(_) | Entry::Leave(_) | Entry::Flush(_));
        let mut held = self.held();
        if let Some(entries) = &mut *held {
            entries.push(entry);
            if releases && let Some(entries) = held.take() {
                self.pass_on(entries);
            }
        } else {
            self.pass_on(vec![entry]);
        }
    }

    /// Passes entries on. The caller has locked `held`, so that they stay in order.
    fn pass_on(&self, entries: Vec<Entry>) {
        // A writer that has ended has lost the task, which is then cancelled.
        let _ = self.entries.send(entries);
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<Entry>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything so far is written; returns `false` if the task was lost.
    pub(super) async fn flush(&self) -> bool {
        let (written, is_written) = oneshot::channel();
        self.push(Entry::Flush(written));
        is_written.await.is_ok()
    }

    /// Leaves the task, unless a mail waits; returns `true` if it was left or lost.
    pub(super) async fn leave(&self) -> bool {
        let (left, is_left) = oneshot::channel();
        self.push(Entry::Leave(left));
        is_left.await.unwrap_or(true)
    }
}

/// The writer of one task.
pub(super) struct Writing {
    pub(super) store: SqlStore,
    pub(super) key: String,
    pub(super) owner: String,
    pub(super) hub: Arc<Hub>,
    /// Publishes what the hub has to followers in other processes.
    pub(super) deltas: Option<DeltaPublisher>,
    pub(super) inbox: Arc<TaskInbox>,
    pub(super) chat: Option<Arc<Mutex<Chat>>>,
    /// The row after the latest fact.
    pub(super) row: RunRow,
    /// Ids of the latest facts of a run that was taken over: the run may repeat them.
    pub(super) known: Vec<String>,
    /// Time for which the store may be unavailable.
    pub(super) lease: Duration,
    /// Wakes those who wait for an answer.
    pub(super) answered: Arc<Notify>,
    pub(super) lost: CancellationToken,
}

impl Writing {
    async fn run(mut self, mut entries: UnboundedReceiver<Vec<Entry>>, queued: Arc<AtomicUsize>) {
        let mut received = Vec::with_capacity(MAX_BATCH);
        while entries.recv_many(&mut received, MAX_BATCH).await > 0 {
            let mut batch: Vec<Entry> = received.drain(..).flatten().collect();
            queued.fetch_sub(batch.len(), Ordering::Relaxed);
            if self.write(&mut batch).await.is_err() {
                self.lost.cancel();
                break;
            }
        }
        self.hub.end();
    }

    /// Writes a batch, and passes it on to the readers.
    async fn write(&mut self, batch: &mut Vec<Entry>) -> Result<(), Lost> {
        let is_written = |entry: &Entry| match entry {
            Entry::Event(event) => self.is_new(event),
            Entry::Flush(_) => false,
            _ => true,
        };
        let mut written = Written::default();
        if batch.iter().any(is_written) {
            let deadline = Instant::now() + self.lease;
            let mut pause = FIRST_PAUSE;
            let mut write = WriteId { id: Uuid::new_v4().simple().to_string(), is_repeated: false };
            written = loop {
                let attempt = timeout(self.lease / ATTEMPTS_IN_LEASE, self.attempt(batch, &write)).await;
                write.is_repeated = true;
                match attempt.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut.into())) {
                    Ok(Some(written)) => break written,
                    Ok(None) => return Err(Lost),
                    Err(error) if Instant::now() + pause < deadline => {
                        tracing::warn!(%error, "the facts of a run cannot be written yet");
                        sleep(pause).await;
                        pause = LONGEST_PAUSE.min(pause * 2);
                    }
                    Err(error) => {
                        tracing::error!(%error, "the facts of a run cannot be written; the run ends");
                        return Err(Lost);
                    }
                }
            };
        }
        self.pass_on(batch, written);
        Ok(())
    }

    /// Writes a batch in one transaction; returns `None` if the task has another owner.
    async fn attempt(&self, batch: &[Entry], write: &WriteId) -> Result<Option<Written>, SqlStoreError> {
        let mut transaction = self.store.begin().await?;
        let new = self.new_events(batch);
        if write.is_repeated
            && let Some(owner) = self.owner_after(&mut transaction, &write.id).await?
        {
            transaction.rollback().await?;
            let is_left = owner != self.owner && new.end.is_none();
            return Ok(Some(Written { row: Some(row_after(&self.row, &new)), events: new.events, is_left }));
        }
        let fence = "UPDATE agents_tasks SET last_write = $3 WHERE task_key = $1 AND task_owner = $2 AND run = $4";
        let fenced = sqlx::query(fence).bind(&*self.key).bind(&*self.owner).bind(&*write.id).bind(&*self.row.key);
        if fenced.execute(&mut *transaction).await?.rows_affected() == 0 {
            transaction.rollback().await?;
            return Ok(None);
        }
        let mut is_left = false;
        for entry in batch {
            match entry {
                Entry::Begun => {
                    let begun = "UPDATE agents_tasks SET begun = 1 WHERE task_key = $1 AND begun = 0";
                    if sqlx::query(begun).bind(&*self.key).execute(&mut *transaction).await?.rows_affected() == 0 {
                        transaction.rollback().await?;
                        return Ok(None);
                    }
                }
                Entry::Specs(specs) => self.set(&mut transaction, "specs", Some(specs.clone())).await?,
                Entry::Answer { mail, answer } => mail::set_answer(&mut transaction, &self.key, mail, answer).await?,
                Entry::Paused(paused) => {
                    self.set(&mut transaction, "paused", paused.as_ref().map(ToString::to_string)).await?;
                }
                Entry::End(_) => {
                    self.set(&mut transaction, "paused", None).await?;
                    self.set(&mut transaction, "task_owner", Some(String::new())).await?;
                }
                Entry::Leave(_) if self.has_waiting_message() => {}
                Entry::Leave(_) => is_left = mail::leave(&mut transaction, &self.key, &self.owner).await?,
                Entry::Event(_) | Entry::Flush(_) | Entry::Inbox | Entry::Chat(_) => {}
            }
        }
        self.write_values(&mut transaction, batch).await?;
        let mut row = None;
        if !new.events.is_empty() || new.end.is_some() {
            row = append(&mut transaction, &self.row, &new).await?;
            if row.is_none() {
                transaction.rollback().await?;
                return Ok(None);
            }
        }
        transaction.commit().await?;
        Ok(Some(Written { events: new.events, row, is_left }))
    }

    /// Returns the facts of a batch, with their places, and the end.
    fn new_events(&self, batch: &[Entry]) -> NewEvents {
        let mut new = NewEvents::default();
        for entry in batch {
            match entry {
                Entry::Event(event) if self.is_new(event) => {
                    let number = self.row.sequence + 1 + i64::try_from(new.events.len()).unwrap_or_default();
                    new.events.push(self.placed(event, number));
                }
                Entry::End(end) => new.end = Some(RunEnd::clone(end)),
                _ => {}
            }
        }
        new
    }

    /// Returns the owner of the task if an earlier attempt at this write was committed. Locks the
    /// row first: that attempt may be under way at the database.
    async fn owner_after(&self, transaction: &mut Transaction, write: &str) -> Result<Option<String>, SqlStoreError> {
        let lock = "UPDATE agents_tasks SET mail = mail WHERE task_key = $1";
        sqlx::query(lock).bind(&*self.key).execute(&mut **transaction).await?;
        let statement = "SELECT task_owner FROM agents_tasks WHERE task_key = $1 AND last_write = $2";
        let row = sqlx::query(statement).bind(&*self.key).bind(write).fetch_optional(&mut **transaction).await?;
        Ok(row.map(|row| row.try_get("task_owner")).transpose()?)
    }

    /// Returns `true` if the chat has accepted a message that it has not begun to answer.
    fn has_waiting_message(&self) -> bool {
        let chat = self.chat.as_ref().map(|chat| chat.lock().unwrap_or_else(PoisonError::into_inner));
        chat.is_some_and(|chat| !chat.waiting.is_empty())
    }

    /// Writes the inbox and the chat, if they have changed, once: the inbox of now, and the latest
    /// chat of the batch.
    async fn write_values(&self, transaction: &mut Transaction, batch: &[Entry]) -> Result<(), SqlStoreError> {
        if batch.iter().any(|entry| matches!(entry, Entry::Inbox)) {
            let state = self.inbox.state();
            self.set(transaction, "state", Some(rows::json_of(&state))).await?;
            self.set(transaction, "questions", rows::listed_questions(&state)).await?;
            self.set(transaction, "inbox", Some(self.inbox.value().to_string())).await?;
        }
        let latest_chat = batch.iter().rev().find_map(|entry| match entry {
            Entry::Chat(chat) => Some(chat),
            _ => None,
        });
        if let Some(chat) = latest_chat {
            self.set(transaction, "chat", Some(chat.clone())).await?;
        }
        Ok(())
    }

    async fn set(
        &self,
        transaction: &mut Transaction,
        column: &str,
        value: Option<String>,
    ) -> Result<(), SqlStoreError> {
        let statement = format!("UPDATE agents_tasks SET {column} = $1 WHERE task_key = $2");
        sqlx::query(&statement).bind(value).bind(&*self.key).execute(&mut **transaction).await?;
        Ok(())
    }

    /// Passes a batch that was written on to readers, and to those who wait for it.
    fn pass_on(&mut self, batch: &mut Vec<Entry>, written: Written) {
        let mut number = self.row.sequence;
        let mut events = written.events.into_iter();
        for entry in batch.drain(..) {
            match entry {
                Entry::Event(event) if self.is_new(&event) => {
                    number += 1;
                    if let Some(event) = events.next() {
                        self.hub.push(number, event);
                    }
                }
                // A delta has the cursor of the fact before it, and so none comes before the first.
                Entry::Event(event) if !is_stored(&event) && number > 0 => {
                    let delta = self.placed(&event, number);
                    if let Some(deltas) = &mut self.deltas {
                        deltas.delta(number, delta.clone());
                    }
                    self.hub.push(number, delta);
                }
                Entry::Answer { .. } => self.answered.notify_waiters(),
                Entry::Event(_)
                | Entry::Begun
                | Entry::Specs(_)
                | Entry::Paused(_)
                | Entry::End(_)
                | Entry::Inbox
                | Entry::Chat(_) => {}
                Entry::Leave(left) => drop(left.send(written.is_left)),
                Entry::Flush(waits) => drop(waits.send(())),
            }
        }
        if let Some(deltas) = self.deltas.as_ref().filter(|_| number > self.row.sequence) {
            deltas.fact(number);
        }
        if let Some(row) = written.row {
            self.row = row;
        }
    }

    /// Returns `true` for an event that the store must have and does not have.
    fn is_new(&self, event: &RunEvent) -> bool {
        is_stored(event) && !self.known.contains(&event.id)
    }

    fn placed(&self, event: &RunEvent, number: i64) -> RunEvent {
        RunEvent { cursor: Some(cursor(&self.row.key, number)), ..event.clone() }
    }
}

/// The id of a write, which its attempts share.
struct WriteId {
    id: String,
    /// `true` if an attempt was made whose outcome is unknown.
    is_repeated: bool,
}

/// The outcome of a transaction.
#[derive(Default)]
struct Written {
    /// The facts, with their cursors.
    events: Vec<RunEvent>,
    /// The row after them, if there are any.
    row: Option<RunRow>,
    is_left: bool,
}

/// Returns the end of a row at this time.
pub(super) fn end_now(status: RunStatus, output: Option<Value>, failure: Option<RecordedFailure>) -> RunEnd {
    RunEnd { status, at: millis(SystemTime::now()), output, failure }
}

/// Returns the last 8 characters of the id of an execution.
pub(super) fn short_id(execution: &str) -> &str {
    &execution[execution.ceil_char_boundary(execution.len().saturating_sub(8))..]
}

/// Returns the cursor of an event: `p1.<end of the execution>.<number>`.
pub(super) fn cursor(execution: &str, number: i64) -> String {
    format!("p1.{}.{number}", short_id(execution))
}

/// Reads a cursor.
///
/// # Errors
/// The reason why the string is not a cursor of a task; `Ok(None)` for one of another task.
pub(super) fn number_of(cursor: &str, execution: &str) -> Result<Option<i64>, &'static str> {
    let rest = cursor.strip_prefix("p1.").ok_or("it is not one of a run in a process")?;
    let (of, number) = rest.split_once('.').ok_or("a position has not two parts")?;
    let number: i64 = number.parse().ok().filter(|number| *number >= 0).ok_or("an event is not a number")?;
    Ok((of == short_id(execution)).then_some(number))
}

#[cfg(test)]
mod tests;
