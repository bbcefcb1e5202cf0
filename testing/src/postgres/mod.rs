//! A real PostgreSQL server as a child process of the test.
//!
//! [`PostgresServer::start`] fetches the server (no manual installation is necessary), creates a
//! cluster in a temporary directory, and returns once it accepts connections on a free port of the
//! loopback interface. Dropping the value stops the server and removes its data.
//!
//! Guarantees:
//! - Servers of parallel tests and parallel test processes are isolated: each has its own port and
//!   directory.
//! - A server that does not start is an error with the end of its log, never a hang.
//! - The server is stopped with the value, by its own process id; on Unix also if the test process
//!   is killed.
//! - The data survive [`kill`](PostgresServer::kill), as those of a crash, but not a crash of the
//!   machine: nothing is flushed to the disk.
//!
//! Deliberately out of scope: TLS, replication, and versions of PostgreSQL other than the one that
//! is fetched.

mod data;
mod error;
mod install;
mod process;
mod user;

use std::{fmt, io, time::Duration};

pub use self::error::PostgresError;
use self::{data::DataDirectory, process::ServerProcess};
use crate::child_server::ports;

/// Maximum number of attempts to start a server: another process may take its port between choosing
/// and using it, and the processes of a killed server may need a moment to end.
const ATTEMPTS: u32 = 20;
/// Time between two attempts.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(200);

/// A running PostgreSQL server, which is stopped when the value is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), temporal_agents_testing::PostgresError> {
/// use temporal_agents_testing::PostgresServer;
///
/// let server = PostgresServer::start().await?;
/// let url = server.url("postgres");
/// // connect to the database
/// # drop(url);
/// # Ok(())
/// # }
/// ```
pub struct PostgresServer {
    // Dropped in this order: the process uses the directory.
    process: Option<ServerProcess>,
    data: DataDirectory,
    port: u16,
}

impl PostgresServer {
    /// Starts a server with a new cluster, which has the superuser `postgres`.
    ///
    /// The first start on a machine fetches the server, about 25 MB. Where the test process is
    /// root, the server runs as the user `nobody`, because PostgreSQL refuses root.
    ///
    /// # Errors
    /// [`PostgresError`], if the server cannot be fetched or installed, if no port is free, or if
    /// it is not ready within a minute.
    pub async fn start() -> Result<Self, PostgresError> {
        let created = tokio::task::spawn_blocking(DataDirectory::create).await;
        let data = created.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))?;
        let mut server = Self { process: None, data, port: 0 };
        let mut attempt = 1;
        loop {
            server.port = free_port().map_err(PostgresError::Port)?;
            match server.restart_once().await {
                Err(error) if error.is_port_conflict() && attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome.map(|()| server),
            }
        }
    }

    /// Returns the URL of a database. `postgres` exists from the beginning.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres:{}@{}:{}/{database}", self.data.password(), ports::LOOPBACK, self.port)
    }

    /// Returns the process id of the server; `None` after [`kill`](Self::kill).
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(ServerProcess::pid)
    }

    /// Kills the server and its processes with SIGKILL, in the middle of what they do.
    pub fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill(self.port);
        }
    }

    /// Starts a server that was killed again, on the same data and port. A server that runs is
    /// killed first.
    pub async fn restart(&mut self) -> Result<(), PostgresError> {
        self.kill();
        let mut attempt = 1;
        loop {
            match self.restart_once().await {
                Err(PostgresError::Exited { .. }) if attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
            tokio::time::sleep(BETWEEN_ATTEMPTS).await;
        }
    }

    async fn restart_once(&mut self) -> Result<(), PostgresError> {
        let process = ServerProcess::spawn(&self.data, self.port)?;
        process.wait_until_ready(&self.data).await?;
        self.process = Some(process);
        Ok(())
    }
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresServer").field("port", &self.port).field("pid", &self.pid()).finish_non_exhaustive()
    }
}

fn free_port() -> io::Result<u16> {
    Ok(ports::hold()?.local_addr()?.port())
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
