//! Databases for single tests: files of SQLite, and databases of a real PostgreSQL server that the tests of a process share.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU32, Ordering},
};

use sqlx::{AnyConnection, Connection as _};
use tempfile::TempDir;
use temporal_agents_testing::PostgresServer;
use tokio::sync::Mutex;

/// The databases that a store works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// An empty database of one test.
pub(crate) struct TestDatabase {
    pub(crate) url: String,
    _keeps: Keeps,
}

/// What a database lies in.
enum Keeps {
    Directory { _directory: TempDir },
    Server { _server: Arc<PostgresServer> },
}

impl Kind {
    /// Creates a database.
    pub(crate) async fn create(self) -> anyhow::Result<TestDatabase> {
        match self {
            Self::Sqlite => {
                let directory = tempfile::tempdir()?;
                let url = format!("sqlite:{}", directory.path().join("agents.db").display());
                Ok(TestDatabase { url, _keeps: Keeps::Directory { _directory: directory } })
            }
            Self::Postgres => {
                static DATABASES: AtomicU32 = AtomicU32::new(0);
                let server = shared().await?;
                let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
                let mut connection = connect(&server.url("postgres")).await?;
                sqlx::query(&format!("CREATE DATABASE {name}")).execute(&mut connection).await?;
                connection.close().await?;
                Ok(TestDatabase { url: server.url(&name), _keeps: Keeps::Server { _server: server } })
            }
        }
    }
}

impl TestDatabase {
    /// A connection past the store.
    pub(crate) async fn connect(&self) -> anyhow::Result<AnyConnection> {
        connect(&self.url).await
    }
}

/// A connection to the database with this URL.
pub(crate) async fn connect(url: &str) -> anyhow::Result<AnyConnection> {
    sqlx::any::install_default_drivers();
    Ok(AnyConnection::connect(url).await?)
}

/// The server of this process, which ends with the last test that uses it.
async fn shared() -> anyhow::Result<Arc<PostgresServer>> {
    static SHARED: Mutex<Weak<PostgresServer>> = Mutex::const_new(Weak::new());
    // Held while the server starts, so that others wait for this one.
    let mut shared = SHARED.lock().await;
    if let Some(server) = shared.upgrade() {
        return Ok(server);
    }
    let server = Arc::new(PostgresServer::start().await?);
    *shared = Arc::downgrade(&server);
    Ok(server)
}
