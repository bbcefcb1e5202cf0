//! The server's process with the resources of the same lifetime: its directory, its log, its guard.
//!
//! Dropping the value kills the process by its own id and waits until it has ended; its data was in
//! memory only.

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tempfile::TempDir;

use super::DevServerError;
use crate::child_server::{
    log,
    orphan_guard::{EndSignal, OrphanGuard},
};

/// A running `temporal server start-dev`.
#[derive(Debug)]
pub(super) struct ServerProcess {
    /// Behind a mutex, since asking whether it runs needs `&mut`.
    child: Mutex<Child>,
    /// Process id of `child`.
    pid: u32,
    guard: Option<OrphanGuard>,
    cli: PathBuf,
    /// Working directory of the server; contains `LOG` and `ANNOUNCEMENT`. Removed after the
    /// process has ended.
    directory: TempDir,
}

/// Name of the file for the server's stderr.
const LOG: &str = "server.log";
/// Name of the file for the server's stdout: empty until all services serve, then the server's
/// addresses.
const ANNOUNCEMENT: &str = "announcement.txt";

impl ServerProcess {
    pub(super) fn spawn(cli: &Path, arguments: &[String]) -> Result<Self, DevServerError> {
        let directory = TempDir::with_prefix("temporal-agents-dev-server-").map_err(DevServerError::Directory)?;
        let file = |name| File::create(directory.path().join(name)).map_err(DevServerError::Directory);
        let (stdout, stderr) = (file(ANNOUNCEMENT)?, file(LOG)?);
        let child = Command::new(cli)
            .args(arguments)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn();
        let spawn_error = |source| DevServerError::Spawn { cli: cli.to_owned(), source };
        let child = child.map_err(spawn_error)?;
        let (pid, child) = (child.id(), Mutex::new(child));
        let mut process = Self { child, pid, guard: None, cli: cli.to_owned(), directory };
        // From here on, an error drops `process` and thereby stops the server.
        process.guard = OrphanGuard::watch_over(process.pid(), EndSignal::Kill).map_err(spawn_error)?;
        Ok(process)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn cli(&self) -> &Path {
        &self.cli
    }

    /// Returns the exit status of the server, if it has ended.
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        self.child().try_wait().expect("a child of this process can be waited for")
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if the server has announced that all its services serve. The service that
    /// answers clients serves earlier than others, and one of the others may still find its port in
    /// use, which ends the server.
    pub(super) fn announced(&self) -> bool {
        self.directory.path().join(ANNOUNCEMENT).metadata().is_ok_and(|file| file.len() > 0)
    }

    /// Returns the end of the server's log, or of what it has printed if it has logged nothing.
    pub(super) fn log_tail(&self) -> String {
        let tail = |name: &str| log::tail(&self.directory.path().join(name));
        Some(tail(LOG)).filter(|log| !log.trim().is_empty()).unwrap_or_else(|| tail(ANNOUNCEMENT))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The guard first: before the child is waited for, its id cannot belong to another process.
        drop(self.guard.take());
        // Both calls fail only if the child has already ended.
        let mut child = self.child();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Returns a namespace name that only one server of this machine has.
///
/// A request for this namespace distinguishes this server from one that another process started on
/// the same port at the same moment.
pub(super) fn birthmark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    format!("temporal-agents-testing-{}-{number}", std::process::id())
}
