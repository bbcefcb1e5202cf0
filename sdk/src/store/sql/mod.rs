//! A store in a SQL database: PostgreSQL, or a file of SQLite.
//!
//! [`SqlStore`] is a pool of connections to one database, whose tables it creates and alters itself
//! (`migrations/`). Its parts for single concerns are modules beside this one; all of them use the
//! pool, [`begin`](SqlStore::begin) and the error type of this module.
//!
//! # Design
//! **One text for both databases.** Queries go through sqlx's `Any` driver, with `$1` parameters,
//! which SQLite understands as well. The alternative, an enum of two typed pools, has every query
//! twice. `Any` knows few types, so the tables use only three: `TEXT` (also for JSON), `BIGINT`
//! (also for booleans, and for times in milliseconds since 1970) and `DOUBLE PRECISION`. A SQLite
//! column declared as `BOOLEAN` cannot be read through it.
//!
//! **Text.** PostgreSQL refuses U+0000 in text, and keys of some kilobytes in an index. `text.rs`
//! has an encoding for both. JSON needs none, because its encoder escapes U+0000.
//!
//! **Writers of SQLite** take the write lock when they begin. A transaction that reads first and
//! writes later would fail at once if another has written in between, whatever `busy_timeout` is.

mod agents;
mod decisions;
mod error;
mod migrate;
mod migrations;
mod questions;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only a service reads runs from their rows"))]
pub(crate) mod runs;
mod sessions;
mod target;
pub(crate) mod text;
mod time;
mod transaction;

use std::{fmt, sync::Arc, time::Duration};

use sqlx::{AnyPool, any::AnyPoolOptions};

pub use self::error::SqlStoreError;
use self::target::Target;
pub(crate) use self::transaction::Transaction;

/// Maximum time to wait for a connection: for a free one, or for a database that restarts.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum number of connections of one store.
const MAX_CONNECTIONS: u32 = 10;

/// A store in a SQL database. Clones share its connections.
///
/// Any number of processes may use one database. Their builds may differ: migrations only add
/// tables and columns.
///
/// # URLs
/// | URL | database | feature |
/// |---|---|---|
/// | `postgres://user:password@host:port/database` | PostgreSQL 13 or newer | `postgres` |
/// | `sqlite:PATH` | a file of SQLite on a local disk, created if it does not exist | `sqlite` |
///
/// A PostgreSQL URL may have the parameters of libpq, for example `?sslmode=verify-full`.
#[derive(Clone)]
pub struct SqlStore {
    pool: AnyPool,
    target: Arc<Target>,
}

impl SqlStore {
    /// Connects to the database, and applies the migrations that it does not have yet. Processes
    /// that connect at the same time wait for each other. Waits at most 20 seconds for a database
    /// that does not accept connections.
    ///
    /// # Errors
    /// The URL is not one of the forms above, the database cannot be reached, or a migration fails.
    /// No error contains the password.
    pub async fn connect(url: &str) -> Result<Self, SqlStoreError> {
        let target = Arc::new(Target::parse(url)?);
        let database = target.database;
        sqlx::any::install_default_drivers();
        let pool = AnyPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .after_connect(move |connection, _| Box::pin(target::set_up(database, connection)))
            .connect_with(target.options.clone())
            .await
            .map_err(|error| SqlStoreError::connect(&target, &error))?;
        let store = Self { pool, target };
        migrate::prepare(&store).await?;
        Ok(store)
    }

    /// Returns the pool, for statements that need no transaction.
    pub(crate) fn pool(&self) -> &AnyPool {
        &self.pool
    }
}

impl fmt::Debug for SqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SqlStore").field(&self.target.shown).finish()
    }
}

#[cfg(test)]
mod tests;
