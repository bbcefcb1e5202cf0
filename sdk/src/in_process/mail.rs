//! Mail of a task: decisions, messages, and the request to cancel it. Any process sends,
//! the owner of the task answers.
//!
//! # Design
//! **A mail is the update of a workflow.** It has an id: sent again, it is the same mail, and has
//! the same answer. Its row stays, like those of the task, so that a process that takes a task over
//! reads the decisions that the process before has answered and not yet acted on.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sqlx::Row as _;
use temporal_agents_core::wire::{AgentDecision, ChatMessage};

use super::rows::json_of;
use crate::store::{
    SqlStore, SqlStoreError,
    sql::{Transaction, text::indexed},
};

/// The id of the mail that cancels a task.
pub(super) const CANCEL: &str = "cancel";
/// The maximum number of mails that are read at once.
const PAGE: i64 = 200;

/// A mail to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Mail {
    /// A decision on a call; the answer is a `DecisionAnswer`.
    Decision { decision: AgentDecision },
    /// A message to a chat; the answer is a `ChatReply`, of which the first one may be replaced.
    Message { message: ChatMessage },
    /// The request to cancel the task; the answer is `true`.
    Cancel,
}

/// A mail as the owner reads it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) task: String,
    /// The key of the mail.
    pub(super) key: String,
    /// The number of the mail among those of its task.
    pub(super) number: i64,
    pub(super) mail: Mail,
}

/// The answer to the mail with this id.
#[derive(Debug)]
pub(super) struct MailAnswer {
    pub(super) mail: String,
    pub(super) answer: Value,
}

/// The task that a mail was sent to.
pub(super) enum Posted {
    /// There is no such task.
    Nowhere,
    /// The task has ended. A mail that was sent before may have its answer.
    Ended,
    /// The owner will answer.
    ToOwner,
    /// No process runs the task: the sender owns it from now on.
    Claimed,
}

/// Sends a mail. A task that no process runs is claimed by `own`.
pub(super) async fn post(
    store: &SqlStore,
    task: &str,
    id: &str,
    mail: &Mail,
    own: &str,
) -> Result<Posted, SqlStoreError> {
    let mut transaction = store.begin().await?;
    // This also locks the row: its owner does not leave it while the mail is on its way.
    let counted = "UPDATE agents_tasks SET mail = mail + 1 WHERE task_key = $1";
    if sqlx::query(counted).bind(task).execute(&mut *transaction).await?.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(Posted::Nowhere);
    }
    let statement = "SELECT task_owner, mail, ended_at FROM agents_tasks JOIN agents_runs ON run_key = run WHERE \
                     task_key = $1";
    let row = sqlx::query(statement).bind(task).fetch_one(&mut *transaction).await?;
    if row.try_get::<Option<i64>, _>("ended_at")?.is_some() {
        transaction.rollback().await?;
        return Ok(Posted::Ended);
    }
    let statement = "INSERT INTO agents_task_mail (task_key, mail_key, number, body) VALUES ($1, $2, $3, $4) ON \
                     CONFLICT (task_key, mail_key) DO NOTHING";
    let sent = sqlx::query(statement)
        .bind(task)
        .bind(indexed(id).into_owned())
        .bind(row.try_get::<i64, _>("mail")?)
        .bind(json_of(mail))
        .execute(&mut *transaction)
        .await?;
    let mut waits = sent.rows_affected() > 0;
    if !waits {
        let statement =
            "SELECT mail_key FROM agents_task_mail WHERE task_key = $1 AND mail_key = $2 AND answer IS NULL";
        let unanswered = sqlx::query(statement).bind(task).bind(indexed(id).into_owned());
        waits = unanswered.fetch_optional(&mut *transaction).await?.is_some();
    }
    let is_unowned = row.try_get::<String, _>("task_owner")?.is_empty() && waits;
    if is_unowned {
        let claimed = "UPDATE agents_tasks SET task_owner = $1 WHERE task_key = $2";
        sqlx::query(claimed).bind(own).bind(task).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(if is_unowned { Posted::Claimed } else { Posted::ToOwner })
}

/// Returns the answer to a mail; `None` if there is no such mail, `Some(None)` if it has none.
pub(super) async fn answer(store: &SqlStore, task: &str, id: &str) -> Result<Option<Option<Value>>, SqlStoreError> {
    let statement = "SELECT answer FROM agents_task_mail WHERE task_key = $1 AND mail_key = $2";
    let row = sqlx::query(statement).bind(task).bind(indexed(id).into_owned()).fetch_optional(store.pool()).await?;
    let Some(row) = row else { return Ok(None) };
    let answer: Option<String> = row.try_get("answer")?;
    Ok(Some(answer.map(|answer| serde_json::from_str(&answer)).transpose()?))
}

/// Deletes a mail.
pub(super) async fn delete(store: &SqlStore, task: &str, id: &str) -> Result<(), SqlStoreError> {
    let statement = "DELETE FROM agents_task_mail WHERE task_key = $1 AND mail_key = $2";
    sqlx::query(statement).bind(task).bind(indexed(id).into_owned()).execute(store.pool()).await?;
    Ok(())
}

/// Sets the answer to a mail.
pub(super) async fn set_answer(
    transaction: &mut Transaction,
    task: &str,
    key: &str,
    answer: &Value,
) -> Result<(), SqlStoreError> {
    let statement = "UPDATE agents_task_mail SET answer = $1 WHERE task_key = $2 AND mail_key = $3";
    sqlx::query(statement).bind(answer.to_string()).bind(task).bind(key).execute(&mut **transaction).await?;
    Ok(())
}

/// Returns the mails without an answer to the tasks of a process, in the order of each task.
pub(super) async fn unanswered(store: &SqlStore, owner: &str) -> Result<Vec<Received>, SqlStoreError> {
    let statement = "SELECT m.task_key, m.mail_key, m.number, m.body FROM agents_task_mail m JOIN agents_tasks t ON \
                     t.task_key = m.task_key WHERE t.task_owner = $1 AND m.answer IS NULL ORDER BY m.task_key, \
                     m.number LIMIT $2";
    let rows = sqlx::query(statement).bind(owner).bind(PAGE).fetch_all(store.pool()).await?;
    rows.iter().map(received).collect()
}

/// Returns the decisions that were sent to a task after this number, answered or not.
pub(super) async fn decisions_after(
    store: &SqlStore,
    task: &str,
    number: i64,
) -> Result<Vec<AgentDecision>, SqlStoreError> {
    let statement = "SELECT task_key, mail_key, number, body FROM agents_task_mail WHERE task_key = $1 AND number > $2 \
                     AND answer IS NOT NULL ORDER BY number";
    let rows = sqlx::query(statement).bind(task).bind(number).fetch_all(store.pool()).await?;
    let mut decisions = Vec::new();
    for row in &rows {
        if let Mail::Decision { decision } = received(row)?.mail {
            decisions.push(decision);
        }
    }
    Ok(decisions)
}

/// Leaves a task that has nothing to do, unless a mail waits. Returns `true` if it was left.
pub(super) async fn leave(transaction: &mut Transaction, task: &str, own: &str) -> Result<bool, SqlStoreError> {
    // The row is locked by the transaction's first statement.
    let statement = "SELECT mail_key FROM agents_task_mail WHERE task_key = $1 AND answer IS NULL LIMIT 1";
    if sqlx::query(statement).bind(task).fetch_optional(&mut **transaction).await?.is_some() {
        return Ok(false);
    }
    let left = "UPDATE agents_tasks SET task_owner = '' WHERE task_key = $1 AND task_owner = $2";
    Ok(sqlx::query(left).bind(task).bind(own).execute(&mut **transaction).await?.rows_affected() > 0)
}

fn received(row: &sqlx::any::AnyRow) -> Result<Received, SqlStoreError> {
    Ok(Received {
        task: row.try_get("task_key")?,
        key: row.try_get("mail_key")?,
        number: row.try_get("number")?,
        mail: serde_json::from_str(row.try_get("body")?)?,
    })
}

#[cfg(test)]
mod tests;
