//! A real Redis server as a child process of the test.
//!
//! [`RedisServer::start`] fetches the server (no manual installation is necessary), and returns
//! once it accepts connections on a free port of the loopback interface. It keeps nothing on the
//! disk: a server that is killed and started again is empty. Dropping the value stops the server,
//! by its own process id; on Unix it also stops if the test process is killed.

mod install;

use std::{
    fmt,
    fs::File,
    io::{self, Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use temporal_agents::__private::error_debug;
use tokio::time::sleep;

use crate::child_server::{
    log,
    orphan_guard::{EndSignal, OrphanGuard},
    ports::{self, LOOPBACK},
};

/// Maximum number of attempts to start a server: another process may take its port between choosing
/// and using it.
const ATTEMPTS: u32 = 20;
/// Maximum time until a server is ready.
const DEADLINE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(10);

/// A running Redis server, which is stopped when the value is dropped.
///
/// ```no_run
/// # async fn example() -> Result<(), temporal_agents_testing::RedisServerError> {
/// use temporal_agents_testing::RedisServer;
///
/// let server = RedisServer::start().await?;
/// let url = server.url();
/// // connect to the server
/// # drop(url);
/// # Ok(())
/// # }
/// ```
pub struct RedisServer {
    // Dropped in this order: the process uses the directory.
    process: Option<ServerProcess>,
    directory: TempDir,
    program: PathBuf,
    port: u16,
}

/// The errors of a Redis server that did not start.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RedisServerError {
    /// The server could not be fetched, for example because there is none for the platform.
    #[error("no Redis server: {reason}")]
    Install {
        /// The reason, with the places that were searched.
        reason: String,
    },
    /// No free port is available.
    #[error("no free port on 127.0.0.1")]
    Port(#[source] io::Error),
    /// The temporary directory could not be prepared.
    #[error("cannot prepare a directory for Redis")]
    Directory(#[source] io::Error),
    /// The server could not be run.
    #[error("cannot run redis-server")]
    Spawn(#[source] io::Error),
    /// The server ended before it was ready.
    #[error("Redis ended with {status} before it was ready; its log ends with:\n{log}")]
    Exited {
        /// Exit status of the server.
        status: ExitStatus,
        /// The last lines of the server's output.
        log: String,
    },
    /// The server runs but was not ready in time.
    #[error("Redis was not ready after {waited:?}; its log ends with:\n{log}")]
    NotReady {
        /// Time waited for the server.
        waited: Duration,
        /// The last lines of the server's output.
        log: String,
    },
}

error_debug!(enum RedisServerError {
    Install { reason },
    Port(source),
    Directory(source),
    Spawn(source),
    Exited { status, log },
    NotReady { waited, log },
});

/// The server's process.
struct ServerProcess {
    child: Child,
    guard: Option<OrphanGuard>,
}

impl RedisServer {
    /// Starts an empty server. The first start on a machine fetches it, about 7 MB; the variable
    /// `REDIS_SERVER` names a program to use instead.
    ///
    /// # Errors
    /// [`RedisServerError`], if the server cannot be fetched, if no port is free, or if it is not
    /// ready within 30 s.
    pub async fn start() -> Result<Self, RedisServerError> {
        let found = tokio::task::spawn_blocking(install::find).await;
        let found = found.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()));
        let program = found.map_err(|reason| RedisServerError::Install { reason })?;
        let directory = TempDir::with_prefix("temporal-agents-redis-").map_err(RedisServerError::Directory)?;
        let mut server = Self { process: None, directory, program, port: 0 };
        let mut attempt = 1;
        loop {
            let held = ports::hold().and_then(|held| held.local_addr());
            server.port = held.map_err(RedisServerError::Port)?.port();
            match server.restart().await {
                Err(RedisServerError::Exited { .. }) if attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome.map(|()| server),
            }
        }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("redis://{LOOPBACK}:{}", self.port)
    }

    /// Returns the process id of the server; `None` after [`kill`](Self::kill).
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child.id())
    }

    /// Kills the server with SIGKILL, in the middle of what it does.
    pub fn kill(&mut self) {
        drop(self.process.take());
    }

    /// Starts the server again, empty, on the same port. A server that runs is killed first.
    ///
    /// # Errors
    /// [`RedisServerError`].
    pub async fn restart(&mut self) -> Result<(), RedisServerError> {
        self.kill();
        let mut process = ServerProcess::spawn(&self.program, &self.directory, self.port)?;
        let log = self.log();
        let begun = Instant::now();
        while !is_ready(self.port) {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(RedisServerError::Exited { status, log: log::tail(&log) });
            }
            if begun.elapsed() >= DEADLINE {
                return Err(RedisServerError::NotReady { waited: DEADLINE, log: log::tail(&log) });
            }
            sleep(INTERVAL).await;
        }
        self.process = Some(process);
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("server.log")
    }
}

impl ServerProcess {
    fn spawn(program: &PathBuf, directory: &TempDir, port: u16) -> Result<Self, RedisServerError> {
        let log = File::create(directory.path().join("server.log")).map_err(RedisServerError::Directory)?;
        let errors = log.try_clone().map_err(RedisServerError::Directory)?;
        let child = Command::new(program)
            .args(["--port", &port.to_string(), "--bind", LOOPBACK])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .arg("--dir")
            .arg(directory.path())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(RedisServerError::Spawn)?;
        let pid = child.id();
        let mut process = Self { child, guard: None };
        // From here on, an error drops `process` and thereby stops the server.
        process.guard = OrphanGuard::watch_over(pid, EndSignal::Kill).map_err(RedisServerError::Spawn)?;
        Ok(process)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The guard first: before the child is waited for, its id cannot belong to another process.
        drop(self.guard.take());
        // Both calls fail only if the child has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Debug for RedisServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisServer").field("port", &self.port).field("pid", &self.pid()).finish_non_exhaustive()
    }
}

/// Returns `true` if the server answers a ping.
fn is_ready(port: u16) -> bool {
    let ping = || -> io::Result<bool> {
        let mut stream = TcpStream::connect((LOOPBACK, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"PING\r\n")?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer)?;
        Ok(answer == *b"+PONG\r\n")
    };
    ping().unwrap_or(false)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
