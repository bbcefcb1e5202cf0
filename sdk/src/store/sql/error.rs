//! The error type of stores in SQL databases.

use thiserror::Error;

use super::{ACQUIRE_TIMEOUT, MAX_CONNECTIONS, target::Target};

/// The error of a [`SqlStore`](super::SqlStore). It never contains a password.
///
/// # Retries
/// As the error of a session store it is retried, whatever its cause is: a database may be
/// unavailable for a time.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct SqlStoreError(#[from] Cause);

#[derive(Debug, Error)]
enum Cause {
    #[error("the URL of a database has the form postgres://user:password@host:port/database or sqlite:PATH")]
    UnknownUrl,
    #[error("the URL names a database of the feature `{0}` of temporal-agents, which this program is built without")]
    MissingFeature(&'static str),
    #[error("sqlite:PATH needs the path of a file, in UTF-8; a database in memory is not supported")]
    NoFile,
    #[error("cannot connect to {database}: {reason}")]
    Connect { database: String, reason: String },
    // The reasons are part of the messages: an activity's failure shows only the outermost one.
    #[error("migration `{name}` fails: {reason}")]
    Migration { name: &'static str, reason: sqlx::Error },
    #[error("the database fails: {0}")]
    Database(sqlx::Error),
    #[error(
        "no connection within {} s: the database accepts none, or all {MAX_CONNECTIONS} connections of this store are in \
         use",
        ACQUIRE_TIMEOUT.as_secs()
    )]
    NoConnection,
    #[error("the database has a value that cannot be read: {0}")]
    Value(serde_json::Error),
}

impl SqlStoreError {
    pub(super) fn unknown_url() -> Self {
        Self(Cause::UnknownUrl)
    }

    pub(super) fn missing_feature(feature: &'static str) -> Self {
        Self(Cause::MissingFeature(feature))
    }

    pub(super) fn no_file() -> Self {
        Self(Cause::NoFile)
    }

    pub(super) fn connect(target: &Target, error: &sqlx::Error) -> Self {
        let reason = target.redacted(&error.to_string());
        Self(Cause::Connect { database: target.shown.clone(), reason })
    }

    pub(super) fn migration(name: &'static str, reason: sqlx::Error) -> Self {
        Self(Cause::Migration { name, reason })
    }
}

impl From<sqlx::Error> for SqlStoreError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolTimedOut => Self(Cause::NoConnection),
            error => Self(Cause::Database(error)),
        }
    }
}

impl From<serde_json::Error> for SqlStoreError {
    fn from(error: serde_json::Error) -> Self {
        Self(Cause::Value(error))
    }
}
