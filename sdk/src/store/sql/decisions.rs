//! Kept decisions in a SQL database.

use std::time::SystemTime;

use futures::future::{BoxFuture, FutureExt};
use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::{tool::BoxError, wire::kept_decision::KeptDecision};

use super::{
    SqlStore, SqlStoreError,
    text::{indexed, restored, storable},
    time::{millis, time},
};
use crate::store::{DecisionStore, StoredDecision};

impl DecisionStore for SqlStore {
    fn decisions<'a>(&'a self, user: &'a str, limit: u32) -> BoxFuture<'a, Result<Vec<StoredDecision>, BoxError>> {
        async move { Ok(self.decisions_of(user, limit).await?) }.boxed()
    }

    fn keep<'a>(
        &'a self,
        user: &'a str,
        decision: &'a KeptDecision,
        arguments: &'a str,
    ) -> BoxFuture<'a, Result<(), BoxError>> {
        async move { Ok(self.keep_decision(user, decision, arguments).await?) }.boxed()
    }

    fn forget<'a>(&'a self, user: &'a str, decision: &'a KeptDecision) -> BoxFuture<'a, Result<bool, BoxError>> {
        async move { Ok(self.forget_decision(user, decision).await?) }.boxed()
    }
}

impl SqlStore {
    async fn decisions_of(&self, user: &str, limit: u32) -> Result<Vec<StoredDecision>, SqlStoreError> {
        let rows = sqlx::query(
            "SELECT decision, arguments, kept_at FROM agents_kept_decisions WHERE user_id = $1 \
             ORDER BY kept_at DESC, subject LIMIT $2",
        );
        let rows = rows.bind(indexed(user).into_owned()).bind(i64::from(limit)).fetch_all(self.pool()).await?;
        rows.iter().map(stored).collect()
    }

    async fn keep_decision(&self, user: &str, decision: &KeptDecision, arguments: &str) -> Result<(), SqlStoreError> {
        let insert = sqlx::query(
            "INSERT INTO agents_kept_decisions (user_id, subject, decision, arguments, kept_at) \
             VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id, subject) DO UPDATE SET \
             decision = excluded.decision, arguments = excluded.arguments, kept_at = excluded.kept_at",
        );
        let insert = insert.bind(indexed(user).into_owned()).bind(decision.subject().to_string());
        let insert = insert.bind(serde_json::to_string(decision)?).bind(storable(arguments).into_owned());
        insert.bind(millis(SystemTime::now())).execute(self.pool()).await?;
        Ok(())
    }

    async fn forget_decision(&self, user: &str, decision: &KeptDecision) -> Result<bool, SqlStoreError> {
        let delete = sqlx::query("DELETE FROM agents_kept_decisions WHERE user_id = $1 AND subject = $2");
        let delete =
            delete.bind(indexed(user).into_owned()).bind(decision.subject().to_string()).execute(self.pool()).await?;
        Ok(delete.rows_affected() > 0)
    }
}

fn stored(row: &AnyRow) -> Result<StoredDecision, SqlStoreError> {
    let decision = serde_json::from_str(row.try_get("decision")?)?;
    Ok(StoredDecision::new(decision, restored(row.try_get("arguments")?), time(row.try_get("kept_at")?)))
}
