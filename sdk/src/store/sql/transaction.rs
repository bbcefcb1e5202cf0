//! A transaction that writes.
//!
//! # Design
//! **A connection in an unknown state is closed.** The transactions of sqlx 0.8 are not safe to
//! drop while they begin: the connection goes back to the pool inside a transaction that nobody
//! ends, and on SQLite it keeps the write lock. Here the guard exists before the first statement,
//! and a transaction that is dropped before its end has been confirmed closes its connection. The
//! database then rolls it back.
//!
//! **Work that has begun runs to its end.** Clients disconnect and requests time out in the middle
//! of a write. [`SqlStore::finish`] moves such work into a task of its own, so that no connection is
//! closed for it, and what belongs to the write happens after it.

use std::{
    future::Future,
    ops::{Deref, DerefMut},
    panic::resume_unwind,
};

use sqlx::{Any, AnyConnection, Executor as _, pool::PoolConnection};
use tracing::Instrument as _;

use super::{SqlStore, SqlStoreError, target::Database};

/// A transaction that writes. Dropped before its end, it is rolled back, and its connection closed.
pub(crate) struct Transaction {
    connection: PoolConnection<Any>,
    /// `true` once the database has confirmed the end.
    has_ended: bool,
}

impl SqlStore {
    /// Begins a transaction that writes.
    pub(crate) async fn begin(&self) -> Result<Transaction, SqlStoreError> {
        let statement = match self.target.database {
            Database::Postgres => "BEGIN",
            Database::Sqlite => "BEGIN IMMEDIATE",
        };
        let connection = self.pool.acquire().await?;
        let mut transaction = Transaction { connection, has_ended: false };
        transaction.execute(statement).await?;
        Ok(transaction)
    }

    /// Runs work to its end in a task of its own, also if the caller stops waiting for it.
    ///
    /// # Errors
    /// Those of the work; the pool is closed if the runtime ends first.
    ///
    /// # Panics
    /// If the work panics.
    pub(crate) async fn finish<T, E>(work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlStoreError> + Send + 'static,
    {
        match tokio::spawn(work.in_current_span()).await {
            Ok(done) => done,
            Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
            Err(_) => Err(SqlStoreError::from(sqlx::Error::PoolClosed).into()),
        }
    }
}

impl Transaction {
    /// Commits the transaction.
    ///
    /// # Errors
    /// The database fails; whether it has committed is unknown then.
    pub(crate) async fn commit(mut self) -> Result<(), SqlStoreError> {
        self.execute("COMMIT").await?;
        self.has_ended = true;
        Ok(())
    }

    /// Takes back what the transaction has written.
    ///
    /// # Errors
    /// The database fails, and rolls back by itself.
    pub(crate) async fn rollback(mut self) -> Result<(), SqlStoreError> {
        self.execute("ROLLBACK").await?;
        self.has_ended = true;
        Ok(())
    }

    async fn execute(&mut self, statement: &'static str) -> Result<(), sqlx::Error> {
        (&mut *self.connection).execute(statement).await?;
        Ok(())
    }
}

impl Deref for Transaction {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        &self.connection
    }
}

impl DerefMut for Transaction {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        &mut self.connection
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if !self.has_ended {
            self.connection.close_on_drop();
        }
    }
}
