//! The freight company's worker, `handler.py`: a Python process with Temporal's own package, which
//! pip downloads once.
//!
//! The Rust SDK can call Nexus operations, but does not yet handle them.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Command, Stdio},
};

use anyhow::Context;
use temporal_agents_testing::DevServer;

const PACKAGE: &str = "temporalio";
const VERSION: &str = "1.35.0";
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/nexus/handler.py");

/// A running handler process; it is killed when the value is dropped.
#[derive(Debug)]
pub struct Handler {
    child: Child,
    // Held open: the handler ends when its standard input closes, so it never outlives this
    // process.
    _alive: Option<ChildStdin>,
    // Standard error of the handler; held open so that it can log.
    log: Option<ChildStderr>,
}

impl Handler {
    /// Starts the handler with this interpreter against a server, and waits until it polls.
    ///
    /// # Errors
    /// The handler does not start; the error contains its log.
    pub fn start(python: &Path, server: &DevServer, task_queue: &str) -> anyhow::Result<Self> {
        let mut child = Command::new(python)
            .args([SCRIPT, server.address(), server.namespace(), task_queue])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{} cannot be run", python.display()))?;
        let alive = child.stdin.take();
        let stdout = child.stdout.take().context("the handler has no standard output")?;
        let log = child.stderr.take();
        let mut handler = Self { child, _alive: alive, log };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        if line.trim() == "ready" {
            return Ok(handler);
        }
        let mut said = String::new();
        if let Some(log) = &mut handler.log {
            log.read_to_string(&mut said)?;
        }
        anyhow::bail!("the handler ended instead of saying that it is ready: {line}{said}")
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        // An error means that the process is dead already, which is the goal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a Python interpreter that has the package: in a virtual environment in the build
/// directory, which is created if it does not exist.
///
/// # Errors
/// Python itself, its module `venv`, or a connection to the package index is missing.
pub fn python() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?;
    let build = program.parent().and_then(Path::parent).context("the program lies in no directory")?;
    let environment = build.join("tmp").join(format!("nexus-{PACKAGE}-{VERSION}"));
    let of = |environment: &Path| environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let marker = environment.join("complete");
    if marker.exists() {
        return Ok(of(&environment));
    }
    println!("Making a Python environment with {PACKAGE} {VERSION} in {} ...", environment.display());
    fs::create_dir_all(&environment)?;
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment).stdin(Stdio::null()).output();
    let made = made.context(
        "python3 cannot be run. The handler of this example is a Python program: install Python 3.10 or newer, or look at \
         examples/src/nexus to see what would have run",
    )?;
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    anyhow::ensure!(
        made.status.success(),
        "python3 cannot make a virtual environment; on Debian and Ubuntu it takes the package python3-venv: {}",
        said(&made)
    );
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
    let package = format!("{PACKAGE}=={VERSION}");
    let fetched = Command::new(of(&environment)).args(pip).arg(&package).stdin(Stdio::null()).output()?;
    anyhow::ensure!(
        fetched.status.success(),
        "pip cannot install {package}, which takes Python 3.10 or newer and a way to the package index: {}",
        said(&fetched)
    );
    fs::write(marker, "")?;
    Ok(of(&environment))
}
