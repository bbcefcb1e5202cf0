//! The server's process with all that lives as long: its directory, its log, its guard.
//!
//! Dropping it kills the process by its own id and waits until it is gone; its data was in memory only.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use tempfile::TempDir;

use super::{DevServerError, orphan_guard::OrphanGuard};

/// How much of the end of the log an error shows, in bytes.
const LOG_TAIL: u64 = 4096;

/// A running `temporal server start-dev`.
#[derive(Debug)]
pub(super) struct ServerProcess {
    child: Child,
    guard: Option<OrphanGuard>,
    cli: PathBuf,
    /// Working directory of the server; holds `LOG` and `ANNOUNCEMENT`. Removed after the process has ended.
    directory: TempDir,
}

/// What the server writes to stderr.
const LOG: &str = "server.log";
/// What it writes to stdout: nothing until all its services serve, then its addresses.
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
        let mut process = Self { child: child.map_err(spawn_error)?, guard: None, cli: cli.to_owned(), directory };
        // From here on an error drops the process and so ends the server.
        process.guard = OrphanGuard::watch_over(process.pid()).map_err(spawn_error)?;
        Ok(process)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn cli(&self) -> &Path {
        &self.cli
    }

    /// How the server ended, if it did.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child of this process can be waited for")
    }

    /// Whether the server has said that all its services serve. The one that answers clients does so earlier than others, and
    /// one of those may still find its port taken, which ends the server.
    pub(super) fn announced(&self) -> bool {
        self.directory.path().join(ANNOUNCEMENT).metadata().is_ok_and(|file| file.len() > 0)
    }

    /// The end of the server's log.
    pub(super) fn log_tail(&self) -> String {
        read_tail(&self.directory.path().join(LOG)).unwrap_or_else(|error| format!("(cannot read the log: {error})"))
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // First the guard: while the child is not waited for, its id cannot belong to another process.
        drop(self.guard.take());
        // Both fail only when the child has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A namespace name that only one server of this machine has.
///
/// Asking for it tells this server from one that another process started on the same port in the same moment.
pub(super) fn birthmark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    format!("temporal-agents-testing-{}-{number}", std::process::id())
}

fn read_tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(LOG_TAIL);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    Ok(String::from_utf8_lossy(&tail).trim().to_owned())
}
