//! The database that a URL names, and the parts of the URL that may be shown.

use std::{fmt::Write as _, path::Path};

use sqlx::{AnyConnection, any::AnyConnectOptions};

use super::SqlStoreError;

/// The kinds of databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    Postgres,
    Sqlite,
}

/// A database, and how to connect to it. Has no `Debug`, because the options contain the password.
#[derive(Clone)]
pub(super) struct Target {
    pub(super) database: Database,
    pub(super) options: AnyConnectOptions,
    /// The URL without user, password and parameters.
    pub(super) shown: String,
    /// The password, as it is written in the URL and decoded.
    secrets: Vec<String>,
}

impl Target {
    pub(super) fn parse(url: &str) -> Result<Self, SqlStoreError> {
        let (scheme, rest) = url.split_once(':').ok_or_else(SqlStoreError::unknown_url)?;
        match scheme {
            "postgres" | "postgresql" => Self::postgres(url),
            "sqlite" => Self::sqlite(rest),
            _ => Err(SqlStoreError::unknown_url()),
        }
    }

    fn postgres(url: &str) -> Result<Self, SqlStoreError> {
        if !cfg!(feature = "postgres") {
            return Err(SqlStoreError::missing_feature("postgres"));
        }
        // The reason of the parser is left out: it could contain a part of the password.
        let options: AnyConnectOptions = url.parse().map_err(|_| SqlStoreError::unknown_url())?;
        let parsed = &options.database_url;
        let mut secrets: Vec<String> =
            parsed.password().map(|raw| vec![raw.to_owned(), decoded(raw)]).unwrap_or_default();
        secrets
            .extend(parsed.query_pairs().filter(|(name, _)| name == "password").map(|(_, value)| value.into_owned()));
        let host = parsed.host_str().unwrap_or_default();
        let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
        let shown = format!("postgres://{host}{port}{}", parsed.path());
        secrets.retain(|secret| !secret.is_empty());
        Ok(Self { database: Database::Postgres, shown, secrets, options })
    }

    fn sqlite(path: &str) -> Result<Self, SqlStoreError> {
        if !cfg!(feature = "sqlite") {
            return Err(SqlStoreError::missing_feature("sqlite"));
        }
        let path = path.strip_prefix("//").unwrap_or(path);
        if path.is_empty() || path.starts_with(":memory:") {
            return Err(SqlStoreError::no_file());
        }
        let absolute = std::path::absolute(Path::new(path)).map_err(|_| SqlStoreError::no_file())?;
        let absolute = absolute.to_str().ok_or_else(SqlStoreError::no_file)?;
        let url = format!("sqlite:{}?mode=rwc", encoded(absolute));
        let options = url.parse().map_err(|_| SqlStoreError::unknown_url())?;
        Ok(Self { database: Database::Sqlite, shown: format!("sqlite:{path}"), secrets: Vec::new(), options })
    }

    /// Removes the password from a message.
    pub(super) fn redacted(&self, message: &str) -> String {
        self.secrets.iter().fold(message.to_owned(), |text, secret| text.replace(secret, "***"))
    }
}

/// Sets a new connection up: one of SQLite waits for 20 seconds for other writers.
pub(super) async fn set_up(database: Database, connection: &mut AnyConnection) -> Result<(), sqlx::Error> {
    if database == Database::Sqlite {
        sqlx::query("PRAGMA busy_timeout = 20000").execute(connection).await?;
    }
    Ok(())
}

/// Escapes everything in a path that has a meaning in a URL, slashes as well: the parser does not
/// change such a path.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |mut url, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            url.push(char::from(byte));
        } else {
            write!(url, "%{byte:02X}").expect("a string takes everything");
        }
        url
    })
}

/// Undoes the escapes of a URL; invalid ones stay as they are.
fn decoded(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = raw.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        if let Some(byte) = escape.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            plain.push(byte);
            at += 3;
        } else {
            plain.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}
