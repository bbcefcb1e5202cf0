//! Agents as data in a SQL database.
//!
//! # Design
//! **The primary key decides between two writers**: both insert the same version, and the database
//! refuses one. No lock is needed, since rows are never changed or removed.

use std::{cmp::Ordering, time::SystemTime};

use futures::future::{BoxFuture, FutureExt};
use serde_json::Value;
use sqlx::{Row as _, any::AnyRow};
use temporal_agents_core::tool::BoxError;

use super::{
    SqlStore, SqlStoreError,
    text::{restored, storable},
    time::{millis, time},
};
use crate::store::{AgentStore, AgentVersion, PutAgentError};

/// Longest name that is looked up, in bytes: names of stored agents have at most 50.
const MAX_NAME_BYTES: usize = 500;

const NEWEST: &str = "SELECT MAX(version) AS version FROM agents_specs WHERE name = $1";

impl AgentStore for SqlStore {
    fn list<'a>(&'a self, after: Option<&'a str>, limit: u32) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>> {
        async move { Ok(self.newest_of_each(after, limit).await?) }.boxed()
    }

    fn versions<'a>(
        &'a self,
        name: &'a str,
        before: Option<u32>,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<AgentVersion>, BoxError>> {
        async move { Ok(self.versions_of(name, before, limit).await?) }.boxed()
    }

    fn read<'a>(
        &'a self,
        name: &'a str,
        version: Option<u32>,
    ) -> BoxFuture<'a, Result<Option<(AgentVersion, Value)>, BoxError>> {
        async move { Ok(self.spec_of(name, version).await?) }.boxed()
    }

    fn put<'a>(
        &'a self,
        name: &'a str,
        spec: &'a Value,
        newest: u32,
        author: Option<&'a str>,
    ) -> BoxFuture<'a, Result<AgentVersion, PutAgentError>> {
        async move {
            let put = self.add_version(name, spec, newest, author).await;
            put.map_err(|error| PutAgentError::Store(error.into()))?
                .map_err(|newest| PutAgentError::Conflict { newest })
        }
        .boxed()
    }
}

impl SqlStore {
    /// Returns the newest version of each agent. PostgreSQL and SQLite order texts differently, and
    /// PostgreSQL by the locale of the database; so names are ordered here. There are few of them.
    async fn newest_of_each(&self, after: Option<&str>, limit: u32) -> Result<Vec<AgentVersion>, SqlStoreError> {
        let rows = sqlx::query(
            "SELECT s.name, s.version, s.created_at, s.author FROM agents_specs s JOIN \
             (SELECT name, MAX(version) AS version FROM agents_specs GROUP BY name) n \
             ON s.name = n.name AND s.version = n.version",
        );
        let rows = rows.fetch_all(self.pool()).await?;
        let mut found = rows.iter().map(version).collect::<Result<Vec<_>, _>>()?;
        found
            .retain(|found| after.is_none_or(|after| found.name.as_bytes().cmp(after.as_bytes()) == Ordering::Greater));
        found.sort_unstable_by(|one, other| one.name.as_bytes().cmp(other.name.as_bytes()));
        found.truncate(limit as usize);
        Ok(found)
    }

    async fn versions_of(
        &self,
        name: &str,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Vec<AgentVersion>, SqlStoreError> {
        if name.len() > MAX_NAME_BYTES {
            return Ok(Vec::new());
        }
        let rows = sqlx::query(
            "SELECT name, version, created_at, author FROM agents_specs WHERE name = $1 AND version < $2 \
             ORDER BY version DESC LIMIT $3",
        );
        let rows = rows.bind(storable(name).into_owned()).bind(before.map_or(i64::MAX, i64::from));
        let rows = rows.bind(i64::from(limit)).fetch_all(self.pool()).await?;
        rows.iter().map(version).collect()
    }

    async fn spec_of(&self, name: &str, wanted: Option<u32>) -> Result<Option<(AgentVersion, Value)>, SqlStoreError> {
        if name.len() > MAX_NAME_BYTES {
            return Ok(None);
        }
        let row = sqlx::query(
            "SELECT name, version, created_at, author, spec FROM agents_specs WHERE name = $1 AND version <= $2 \
             AND version >= $3 ORDER BY version DESC LIMIT 1",
        );
        let (most, least) = wanted.map_or((i64::MAX, 0), |wanted| (i64::from(wanted), i64::from(wanted)));
        let row = row.bind(storable(name).into_owned()).bind(most).bind(least).fetch_optional(self.pool()).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some((version(&row)?, serde_json::from_str(row.try_get("spec")?)?)))
    }

    /// Adds the version after `newest`; returns the newest version if it is another one.
    async fn add_version(
        &self,
        name: &str,
        spec: &Value,
        newest: u32,
        author: Option<&str>,
    ) -> Result<Result<AgentVersion, u32>, SqlStoreError> {
        let next = newest.saturating_add(1);
        let created_at = millis(SystemTime::now());
        // Only after the newest version: versions have no gaps.
        let insert = sqlx::query(
            "INSERT INTO agents_specs (name, version, spec, created_at, author) \
             SELECT $1, $2, $3, $4, $5 WHERE \
             (SELECT COALESCE(MAX(version), 0) FROM agents_specs WHERE name = $1) = $6 ON CONFLICT DO NOTHING",
        );
        let stored = storable(name).into_owned();
        let insert = insert.bind(stored.clone()).bind(i64::from(next)).bind(spec.to_string()).bind(created_at);
        let author = author.map(|author| storable(author).into_owned());
        let inserted = insert.bind(author.clone()).bind(i64::from(newest)).execute(self.pool()).await?;
        if inserted.rows_affected() == 1 {
            let author = author.as_deref().map(restored);
            return Ok(Ok(AgentVersion::new(name, next, time(created_at), author)));
        }
        let found = sqlx::query(NEWEST).bind(stored).fetch_one(self.pool()).await?;
        let found: Option<i64> = found.try_get("version")?;
        Ok(Err(found.and_then(|found| u32::try_from(found).ok()).unwrap_or_default()))
    }
}

fn version(row: &AnyRow) -> Result<AgentVersion, SqlStoreError> {
    let author: Option<String> = row.try_get("author")?;
    let number: i64 = row.try_get("version")?;
    Ok(AgentVersion::new(
        restored(row.try_get("name")?),
        u32::try_from(number).unwrap_or(u32::MAX),
        time(row.try_get("created_at")?),
        author.as_deref().map(restored),
    ))
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
mod tests;
