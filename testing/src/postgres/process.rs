//! The server's process, from its start to its end.
//!
//! The server writes into `postmaster.pid` of its cluster that it is ready, which is what `pg_ctl`
//! waits for as well: so no client is necessary here.

use std::{
    fs::{self, File},
    net::TcpStream,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::{PostgresError, data::DataDirectory};
use crate::child_server::{
    log,
    orphan_guard::{EndSignal, OrphanGuard},
    ports::LOOPBACK,
};

/// Maximum time until a server is ready, recovery after a crash included.
const DEADLINE: Duration = Duration::from_mins(1);
const INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time for a server to end by itself.
const UNTIL_ENDED: Duration = Duration::from_secs(5);

/// Settings: no writes to the disk are waited for, and no resources outlive the process.
const SETTINGS: [&str; 5] = [
    "fsync=off",
    "shared_buffers=16MB",
    "max_connections=200",
    "dynamic_shared_memory_type=mmap",
    "unix_socket_directories=",
];

/// A running server.
#[derive(Debug)]
pub(super) struct ServerProcess {
    /// Behind a mutex, since asking whether it runs needs `&mut`.
    child: Mutex<Child>,
    pid: u32,
    guard: Option<OrphanGuard>,
}

impl ServerProcess {
    pub(super) fn spawn(data: &DataDirectory, port: u16) -> Result<Self, PostgresError> {
        let stderr = File::create(data.log()).map_err(PostgresError::Directory)?;
        let spawn_error = |source| PostgresError::Spawn { program: "postgres", source };
        let child = data
            .command("postgres")
            .arg("-D")
            .arg(data.cluster())
            .args(["-h", LOOPBACK, "-p", &port.to_string()])
            .args(SETTINGS.iter().flat_map(|setting| ["-c", setting]))
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(spawn_error)?;
        let (pid, child) = (child.id(), Mutex::new(child));
        let mut process = Self { child, pid, guard: None };
        // From here on, an error drops `process` and thereby stops the server.
        process.guard = OrphanGuard::watch_over(pid, EndSignal::Quit).map_err(spawn_error)?;
        Ok(process)
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) async fn wait_until_ready(&self, data: &DataDirectory) -> Result<(), PostgresError> {
        let deadline = Instant::now() + DEADLINE;
        let pid_file = data.cluster().join("postmaster.pid");
        while !self.is_ready(&pid_file) {
            if let Some(status) = self.ended() {
                return Err(PostgresError::Exited { status, log: log::tail(&data.log()) });
            }
            if Instant::now() >= deadline {
                return Err(PostgresError::NotReady { waited: DEADLINE, log: log::tail(&data.log()) });
            }
            sleep(INTERVAL).await;
        }
        Ok(())
    }

    /// Returns `true` if the file says so about this process, not about one that was killed.
    fn is_ready(&self, pid_file: &PathBuf) -> bool {
        let Ok(text) = fs::read_to_string(pid_file) else { return false };
        let mut lines = text.lines();
        lines.next() == Some(&self.pid.to_string()) && lines.nth(6).is_some_and(|status| status.trim() == "ready")
    }

    fn ended(&self) -> Option<ExitStatus> {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        child.try_wait().expect("a child of this process can be waited for")
    }

    /// Ends the server and its processes with SIGKILL, and waits until nothing listens on the port.
    pub(super) fn kill(mut self, port: u16) {
        drop(self.guard.take());
        let of_connections = children(self.pid);
        self.kill_and_wait();
        signal("KILL", &of_connections);
        // They have inherited the port.
        let deadline = Instant::now() + UNTIL_ENDED;
        while TcpStream::connect((LOOPBACK, port)).is_ok() && Instant::now() < deadline {
            thread::sleep(INTERVAL);
        }
    }

    fn kill_and_wait(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // Both calls fail only if the child has already ended.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The guard first: before the child is waited for, its id cannot belong to another process.
        drop(self.guard.take());
        if self.ended().is_none() {
            // Immediate shutdown: the server ends its processes and removes its shared memory.
            signal("QUIT", &[self.pid]);
        }
        let deadline = Instant::now() + UNTIL_ENDED;
        while self.ended().is_none() && Instant::now() < deadline {
            thread::sleep(INTERVAL);
        }
        self.kill_and_wait();
    }
}

/// Returns the child processes of a process, where Linux has them; they end by themselves soon
/// after it elsewhere.
fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

/// Sends a signal to processes, through a shell, which needs no unsafe code.
fn signal(name: &str, pids: &[u32]) {
    if pids.is_empty() {
        return;
    }
    // Fails if one of them has ended, which is what is wanted.
    let _ = Command::new("/bin/sh")
        .args(["-c", r#"signal="$1"; shift; kill -s "$signal" "$@" 2>/dev/null"#, "sh", name])
        .args(pids.iter().map(u32::to_string))
        .stdin(Stdio::null())
        .status();
}
