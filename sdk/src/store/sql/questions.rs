//! Questions of agentic sessions in a SQL database.
//!
//! # Design
//! **The first ruling counts**: a statement sets it only where there is none.

use std::time::SystemTime;

use futures::future::{BoxFuture, FutureExt};
use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::{tool::BoxError, wire::ApprovalRuling};

use super::{
    SqlStore, SqlStoreError,
    text::{indexed, restored, storable},
    time::{millis, time},
};
use crate::store::{QuestionStore, StoredQuestion};

impl QuestionStore for SqlStore {
    fn ask<'a>(&'a self, question: &'a StoredQuestion) -> BoxFuture<'a, Result<StoredQuestion, BoxError>> {
        async move { Ok(self.ask_question(question).await?) }.boxed()
    }

    fn ruling<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<ApprovalRuling>, BoxError>> {
        async move { Ok(self.ruling_on(id).await?) }.boxed()
    }

    fn rule<'a>(&'a self, id: &'a str, ruling: &'a ApprovalRuling) -> BoxFuture<'a, Result<bool, BoxError>> {
        async move { Ok(self.rule_on(id, ruling).await?) }.boxed()
    }

    fn question<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredQuestion>, BoxError>> {
        async move { Ok(self.stored_question(id).await?) }.boxed()
    }

    fn open_questions<'a>(
        &'a self,
        after: Option<(SystemTime, &'a str)>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<StoredQuestion>, BoxError>> {
        async move { Ok(self.undecided(after, limit).await?) }.boxed()
    }
}

impl SqlStore {
    async fn ask_question(&self, question: &StoredQuestion) -> Result<StoredQuestion, SqlStoreError> {
        let StoredQuestion { id, workflow_id, call, asked_at, expires_at } = question;
        let insert = sqlx::query(
            "INSERT INTO agents_session_questions \
             (question_key, question_id, workflow_id, call_to_decide, asked_at, expires_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        );
        let insert = insert.bind(indexed(id).into_owned()).bind(storable(id).into_owned());
        let insert = insert.bind(storable(workflow_id).into_owned()).bind(serde_json::to_string(call)?);
        insert.bind(millis(*asked_at)).bind(millis(*expires_at)).execute(self.pool()).await?;
        self.stored_question(id).await?.ok_or_else(|| sqlx::Error::RowNotFound.into())
    }

    async fn stored_question(&self, id: &str) -> Result<Option<StoredQuestion>, SqlStoreError> {
        let row = sqlx::query(
            "SELECT question_id, workflow_id, call_to_decide, asked_at, expires_at FROM agents_session_questions \
             WHERE question_key = $1",
        );
        row.bind(indexed(id).into_owned()).fetch_optional(self.pool()).await?.as_ref().map(stored).transpose()
    }

    async fn ruling_on(&self, id: &str) -> Result<Option<ApprovalRuling>, SqlStoreError> {
        let row = sqlx::query("SELECT ruling FROM agents_session_questions WHERE question_key = $1");
        let Some(row) = row.bind(indexed(id).into_owned()).fetch_optional(self.pool()).await? else { return Ok(None) };
        let ruling: Option<String> = row.try_get("ruling")?;
        ruling.map(|ruling| Ok(serde_json::from_str(&ruling)?)).transpose()
    }

    async fn rule_on(&self, id: &str, ruling: &ApprovalRuling) -> Result<bool, SqlStoreError> {
        let update = sqlx::query(
            "UPDATE agents_session_questions SET ruling = $1, decided_at = $2 \
             WHERE question_key = $3 AND ruling IS NULL",
        );
        let update = update.bind(serde_json::to_string(ruling)?).bind(millis(SystemTime::now()));
        let updated = update.bind(indexed(id).into_owned()).execute(self.pool()).await?;
        Ok(updated.rows_affected() > 0)
    }

    async fn undecided(
        &self,
        after: Option<(SystemTime, &str)>,
        limit: u32,
    ) -> Result<Vec<StoredQuestion>, SqlStoreError> {
        let (at, key) =
            after.map_or((i64::MIN, String::new()), |(asked_at, id)| (millis(asked_at), indexed(id).into_owned()));
        let rows = sqlx::query(
            "SELECT question_id, workflow_id, call_to_decide, asked_at, expires_at FROM agents_session_questions \
             WHERE ruling IS NULL AND (asked_at > $1 OR (asked_at = $1 AND question_key > $2)) \
             ORDER BY asked_at, question_key LIMIT $3",
        );
        let rows = rows.bind(at).bind(key).bind(i64::from(limit)).fetch_all(self.pool()).await?;
        rows.iter().map(stored).collect()
    }
}

fn stored(row: &AnyRow) -> Result<StoredQuestion, SqlStoreError> {
    Ok(StoredQuestion::new(
        restored(row.try_get("question_id")?),
        restored(row.try_get("workflow_id")?),
        serde_json::from_str(row.try_get("call_to_decide")?)?,
        time(row.try_get("asked_at")?),
        time(row.try_get("expires_at")?),
    ))
}
