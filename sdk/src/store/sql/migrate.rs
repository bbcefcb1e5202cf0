//! Brings the tables of a database up to date.
//!
//! All missing migrations are applied in one transaction, under a lock of the database: of
//! processes that connect at the same time, one applies them, and the others find them applied.
//! Migrations that this build does not know are left alone: a newer build has applied them.
//!
//! # Design
//! sqlx's own migrations are not used: on SQLite they take no lock, so that the second of two
//! processes fails.

use std::{collections::BTreeSet, time::Duration};

use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use super::{
    SqlStore, SqlStoreError, Transaction,
    migrations::{MIGRATIONS, Migration},
    target::Database,
};

/// The key of the advisory lock in PostgreSQL: "agents" in ASCII.
const LOCK: i64 = 0x6167_656e_7473;

const CREATE_MIGRATIONS: &str = "CREATE TABLE IF NOT EXISTS agents_migrations (name TEXT NOT NULL PRIMARY KEY)";

/// Maximum time to wait for other processes that prepare the same SQLite file.
const SQLITE_PATIENCE: Duration = Duration::from_secs(20);
const SQLITE_INTERVAL: Duration = Duration::from_millis(20);

/// Prepares a database: the journal of SQLite, and the migrations.
pub(super) async fn prepare(store: &SqlStore) -> Result<(), SqlStoreError> {
    if store.target.database == Database::Sqlite {
        write_ahead(store).await?;
    }
    let mut transaction = store.begin().await?;
    if store.target.database == Database::Postgres {
        sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(LOCK).execute(&mut *transaction).await?;
    }
    sqlx::query(CREATE_MIGRATIONS).execute(&mut *transaction).await?;
    let applied = applied(&mut transaction).await?;
    for migration in MIGRATIONS.iter().filter(|migration| !applied.contains(migration.name)) {
        apply(migration, &mut transaction).await.map_err(|source| SqlStoreError::migration(migration.name, source))?;
    }
    transaction.commit().await?;
    Ok(())
}

async fn applied(transaction: &mut Transaction) -> Result<BTreeSet<String>, sqlx::Error> {
    let rows = sqlx::query("SELECT name FROM agents_migrations").fetch_all(&mut **transaction).await?;
    rows.iter().map(|row| row.try_get("name")).collect()
}

async fn apply(migration: &Migration, transaction: &mut Transaction) -> Result<(), sqlx::Error> {
    for statement in migration.statements {
        sqlx::query(statement).execute(&mut **transaction).await?;
    }
    sqlx::query("INSERT INTO agents_migrations (name) VALUES ($1)")
        .bind(migration.name)
        .execute(&mut **transaction)
        .await?;
    tracing::info!(migration = migration.name, "migration applied");
    Ok(())
}

/// Lets readers and a writer of a SQLite file work at the same time. The file keeps the mode.
///
/// The change needs the file alone, and does not wait as other statements do.
async fn write_ahead(store: &SqlStore) -> Result<(), SqlStoreError> {
    let deadline = Instant::now() + SQLITE_PATIENCE;
    loop {
        match sqlx::query("PRAGMA journal_mode = WAL").execute(store.pool()).await {
            Ok(_) => return Ok(()),
            Err(error) if is_busy(&error) && Instant::now() < deadline => sleep(SQLITE_INTERVAL).await,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns `true` for `SQLITE_BUSY` and its extended codes, which have it in the lowest byte.
fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<i64>().ok());
    code.is_some_and(|code| code & 0xff == 5)
}
