//! Sessions in a database.
//!
//! # Design
//! **A write is one transaction**: its key, the positions of its items, and the items. The same key
//! again finds the key and changes nothing, also while the first write is under way: it waits for
//! that one. A write whose transaction was cut off has left no key.
//!
//! **Writers of one session wait for each other** at the session's row. Positions become visible in
//! their order, so that what a reader sees is always a beginning of what later readers see, which
//! reads in portions need.

use futures::future::BoxFuture;
use sqlx::Row as _;
use temporal_agents_core::{tool::BoxError, wire::Item};

use super::{SqlStore, SqlStoreError, Transaction, text::indexed};
use crate::store::Session;

/// Maximum number of items of one statement. Each is three parameters, of which SQLite allows
/// 32,766.
const ITEMS_PER_STATEMENT: usize = 500;

const RECORD_WRITE: &str =
    "INSERT INTO agents_session_writes (session_id, write_key) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const RESERVE_POSITIONS: &str = "INSERT INTO agents_sessions (session_id, next_position) VALUES ($1, $2) \
    ON CONFLICT (session_id) DO UPDATE SET next_position = agents_sessions.next_position + excluded.next_position \
    RETURNING next_position";
const READ_ALL: &str = "SELECT item FROM agents_session_items WHERE session_id = $1 ORDER BY position";
const READ_LATEST: &str = "SELECT item FROM agents_session_items WHERE session_id = $1 ORDER BY position DESC LIMIT $2";

impl Session for SqlStore {
    fn items<'a>(&'a self, session_id: &'a str, limit: Option<u32>) -> BoxFuture<'a, Result<Vec<Item>, BoxError>> {
        Box::pin(async move { Ok(self.read_session(session_id, limit).await?) })
    }

    fn add<'a>(&'a self, session_id: &'a str, items: Vec<Item>, key: &'a str) -> BoxFuture<'a, Result<(), BoxError>> {
        let (store, session_id, key) = (self.clone(), session_id.to_owned(), key.to_owned());
        let work = async move { store.add_to_session(&session_id, &items, &key).await };
        Box::pin(async move { Ok(Self::finish(work).await?) })
    }
}

impl SqlStore {
    async fn read_session(&self, session_id: &str, limit: Option<u32>) -> Result<Vec<Item>, SqlStoreError> {
        let session_id = indexed(session_id);
        let rows = match limit {
            None => sqlx::query(READ_ALL).bind(&*session_id).fetch_all(self.pool()).await?,
            Some(limit) => {
                let latest = sqlx::query(READ_LATEST).bind(&*session_id).bind(i64::from(limit));
                let mut rows = latest.fetch_all(self.pool()).await?;
                rows.reverse();
                rows
            }
        };
        rows.iter().map(|row| Ok(serde_json::from_str(row.try_get("item")?)?)).collect()
    }

    async fn add_to_session(&self, session_id: &str, items: &[Item], key: &str) -> Result<(), SqlStoreError> {
        let session_id = indexed(session_id);
        let items = items.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>()?;
        let mut transaction = self.begin().await?;
        let recorded =
            sqlx::query(RECORD_WRITE).bind(&*session_id).bind(&*indexed(key)).execute(&mut *transaction).await?;
        if recorded.rows_affected() == 0 {
            return transaction.rollback().await;
        }
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let reserved =
            sqlx::query(RESERVE_POSITIONS).bind(&*session_id).bind(count).fetch_one(&mut *transaction).await?;
        let mut position = reserved.try_get::<i64, _>("next_position")? - count;
        for items in items.chunks(ITEMS_PER_STATEMENT) {
            position = insert(&mut transaction, &session_id, position, items).await?;
        }
        transaction.commit().await
    }
}

/// Inserts items from a position on, and returns the position after them.
async fn insert(
    transaction: &mut Transaction,
    session_id: &str,
    position: i64,
    items: &[String],
) -> Result<i64, SqlStoreError> {
    let rows: Vec<String> =
        (0..items.len()).map(|row| 3 * row).map(|at| format!("(${}, ${}, ${})", at + 1, at + 2, at + 3)).collect();
    let statement = format!("INSERT INTO agents_session_items (session_id, position, item) VALUES {}", rows.join(", "));
    // Statements of many lengths would fill the cache of prepared ones.
    let mut query = sqlx::query(&statement).persistent(items.len() == 1);
    let mut next = position;
    for item in items {
        query = query.bind(session_id).bind(next).bind(item.as_str());
        next += 1;
    }
    query.execute(&mut **transaction).await?;
    Ok(next)
}
