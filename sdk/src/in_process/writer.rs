//! The facts and the row of a task that this process owns, on their way to the store.
//!
//! # Design
//! **One writer, in order.** All that a task does goes through one queue: facts, answers to mail,
//! pauses, its end. The writer takes what is there and writes it in one transaction, so that a
//! reader who sees an answer also sees the facts before it.
//!
//! **A fence.** Each transaction begins with an update of the row that only its owner can make. A
//! process that was taken for dead writes nothing more, and its task is cancelled.
//!
//! **A store that is unavailable** is asked again for as long as the lease lasts: then others take
//! the task for dead, and it ends here.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use sqlx::{Any, Transaction};
use tokio::{
    sync::{
        Notify,
        mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
        oneshot,
    },
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use super::{hub::Hub, inbox::TaskInbox, mail, rows};
use crate::{
    store::{SqlStore, SqlStoreError},
    wire::{EventKind, RunEvent, RunStatus},
    workflow::Chat,
};

/// Maximum number of entries in one transaction.
const MAX_BATCH: usize = 256;
/// Number of entries in the queue from which on deltas are dropped.
const MAX_QUEUED: usize = 4_096;
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
    /// Values of the row.
    Row(Box<RowChange>),
    /// The inbox has changed.
    Inbox,
    /// The chat has changed.
    Chat,
    /// The task has nothing to do: leaves it, unless a mail waits. Returns `true` if it was left.
    Leave(oneshot::Sender<bool>),
    /// Everything before is to be written.
    Flush(oneshot::Sender<()>),
}

/// New values of a row; `None` leaves a value as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct RowChange {
    pub(super) status: Option<RunStatus>,
    /// The paused run; null for none.
    pub(super) paused: Option<Value>,
    /// The final output or the failure: the task has ended.
    pub(super) outcome: Option<Value>,
}

/// The queue of a task.
#[derive(Clone, Debug)]
pub(super) struct RunLog {
    entries: UnboundedSender<Entry>,
    queued: Arc<AtomicUsize>,
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
        Self { entries, queued }
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

    pub(super) fn push(&self, entry: Entry) {
        self.queued.fetch_add(1, Ordering::Relaxed);
        // A writer that has ended has lost the task, which is then cancelled.
        let _ = self.entries.send(entry);
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
    pub(super) execution: String,
    pub(super) owner: String,
    pub(super) hub: Arc<Hub>,
    pub(super) inbox: Arc<TaskInbox>,
    pub(super) chat: Option<Arc<Mutex<Chat>>>,
    /// Number of the latest fact in the store.
    pub(super) facts: i64,
    /// Time for which the store may be unavailable.
    pub(super) lease: Duration,
    /// Wakes those who wait for an answer.
    pub(super) answered: Arc<Notify>,
    pub(super) lost: CancellationToken,
}

impl Writing {
    async fn run(mut self, mut entries: UnboundedReceiver<Entry>, queued: Arc<AtomicUsize>) {
        let mut batch = Vec::with_capacity(MAX_BATCH);
        while entries.recv_many(&mut batch, MAX_BATCH).await > 0 {
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
        let is_stored = |entry: &Entry| match entry {
            Entry::Event(event) => is_stored(event),
            Entry::Flush(_) => false,
            _ => true,
        };
        let mut written = Written::default();
        if batch.iter().any(is_stored) {
            let deadline = Instant::now() + self.lease;
            let mut pause = FIRST_PAUSE;
            written = loop {
                match self.attempt(batch).await {
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
    async fn attempt(&self, batch: &[Entry]) -> Result<Option<Written>, SqlStoreError> {
        let mut transaction = self.store.begin().await?;
        let fence = "UPDATE agents_tasks SET events = events WHERE task_key = $1 AND owner = $2 AND ended_at IS NULL";
        let fenced = sqlx::query(fence).bind(&*self.key).bind(&*self.owner).execute(&mut *transaction).await?;
        if fenced.rows_affected() == 0 {
            return Ok(None);
        }
        let mut written = Written::default();
        let mut facts = self.facts;
        for entry in batch {
            match entry {
                Entry::Event(event) if is_stored(event) => {
                    let event = self.placed(event, facts + 1);
                    let is_new = rows::add_event(&mut transaction, &self.key, facts + 1, &event).await?;
                    facts += i64::from(is_new);
                    written.is_new.push(is_new);
                }
                Entry::Event(_) | Entry::Flush(_) | Entry::Inbox | Entry::Chat => {}
                Entry::Answer { mail, answer } => mail::set_answer(&mut transaction, &self.key, mail, answer).await?,
                Entry::Row(change) => self.change(&mut transaction, change).await?,
                Entry::Leave(_) => {
                    written.is_left = mail::leave(&mut transaction, &self.key, &self.owner).await?;
                }
            }
        }
        // Their values are those of now, so that each is written once.
        if batch.iter().any(|entry| matches!(entry, Entry::Inbox)) {
            self.set(&mut transaction, "state", Some(rows::json_of(&self.inbox.state()))).await?;
            self.set(&mut transaction, "inbox", Some(self.inbox.value().to_string())).await?;
        }
        if let (Some(chat), true) = (&self.chat, batch.iter().any(|entry| matches!(entry, Entry::Chat))) {
            let chat = rows::json_of(&*chat.lock().unwrap_or_else(PoisonError::into_inner));
            self.set(&mut transaction, "chat", Some(chat)).await?;
        }
        let counted = "UPDATE agents_tasks SET events = $1 WHERE task_key = $2";
        sqlx::query(counted).bind(facts).bind(&*self.key).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(Some(written))
    }

    async fn change(
        &self,
        transaction: &mut Transaction<'static, Any>,
        change: &RowChange,
    ) -> Result<(), SqlStoreError> {
        let RowChange { status, paused, outcome } = change;
        if let Some(status) = status {
            self.set(transaction, "status", Some(rows::name_of(*status))).await?;
        }
        if let Some(paused) = paused {
            self.set(transaction, "paused", (!paused.is_null()).then(|| paused.to_string())).await?;
        }
        if let Some(outcome) = outcome {
            self.set(transaction, "outcome", Some(outcome.to_string())).await?;
        }
        if outcome.is_some() {
            let statement = "UPDATE agents_tasks SET ended_at = $1 WHERE task_key = $2";
            sqlx::query(statement).bind(rows::now()).bind(&*self.key).execute(&mut **transaction).await?;
        }
        Ok(())
    }

    async fn set(
        &self,
        transaction: &mut Transaction<'static, Any>,
        column: &str,
        value: Option<String>,
    ) -> Result<(), SqlStoreError> {
        let statement = format!("UPDATE agents_tasks SET {column} = $1 WHERE task_key = $2");
        sqlx::query(&statement).bind(value).bind(&*self.key).execute(&mut **transaction).await?;
        Ok(())
    }

    /// Passes a batch that was written on to readers, and to those who wait for it.
    fn pass_on(&mut self, batch: &mut Vec<Entry>, written: Written) {
        let mut is_new = written.is_new.into_iter();
        for entry in batch.drain(..) {
            match entry {
                Entry::Event(event) if is_stored(&event) => {
                    if is_new.next().unwrap_or(false) {
                        self.facts += 1;
                        let event = self.placed(&event, self.facts);
                        self.hub.push(self.facts, event);
                    }
                }
                // A delta has the cursor of the fact before it, and so none comes before the first.
                Entry::Event(event) if self.facts > 0 => self.hub.push(self.facts, self.placed(&event, self.facts)),
                Entry::Answer { .. } => self.answered.notify_waiters(),
                Entry::Event(_) | Entry::Row(_) | Entry::Inbox | Entry::Chat => {}
                Entry::Leave(left) => drop(left.send(written.is_left)),
                Entry::Flush(waits) => drop(waits.send(())),
            }
        }
    }

    fn placed(&self, event: &RunEvent, number: i64) -> RunEvent {
        RunEvent { cursor: Some(cursor(&self.execution, number)), ..event.clone() }
    }
}

/// The outcome of a transaction.
#[derive(Default)]
struct Written {
    /// For each fact of the batch, `true` if the store did not have it.
    is_new: Vec<bool>,
    is_left: bool,
}

/// Returns `true` for facts, and for the messages of a chat: these deltas have ids, and the order of
/// the messages links them to the runs that answer them.
fn is_stored(event: &RunEvent) -> bool {
    !event.is_delta() || matches!(event.kind, EventKind::ChatMessageDelta { .. })
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
