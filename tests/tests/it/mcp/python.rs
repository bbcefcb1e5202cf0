//! Servers of the official Python package, from a virtual environment that the tests make for themselves.
//!
//! It is made once, under cargo's directory for tests, and found there by the next run. A server ends with the pipe to its standard
//! input, so that none outlives its test.

use std::{
    ffi::OsString,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::LazyLock,
};

use temporal_agents::mcp::{McpHttp, McpStdio, McpTransport};

/// The package, and what stands in its directory's name.
const VERSION: &str = "2.3.0";

static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| environment().expect("a virtual environment with the package mcp"));

fn server_py() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mcp/server.py")
}

/// The interpreter of an environment that has the package.
fn environment() -> anyhow::Result<PathBuf> {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let python = |environment: &Path| environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let ready = all.join(format!("mcp-{VERSION}"));
    if python(&ready).exists() {
        return Ok(python(&ready));
    }
    std::fs::create_dir_all(all)?;
    let making = tempfile::tempdir_in(all)?;
    run(Command::new("python3").args(["-m", "venv"]).arg(making.path()))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"];
    run(Command::new(python(making.path())).args(pip).arg(format!("mcp=={VERSION}")))?;
    // Another process may have been faster; its environment is as good.
    match std::fs::rename(making.path(), &ready) {
        Ok(()) => drop(making.keep()),
        Err(_) if python(&ready).exists() => {}
        Err(error) => return Err(error.into()),
    }
    Ok(python(&ready))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    anyhow::ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A server as a child process of the worker.
pub(crate) fn stdio() -> McpStdio {
    with_arguments([])
}

/// A server as a child process that is started with these arguments.
pub(super) fn with_arguments<const N: usize>(arguments: [&str; N]) -> McpStdio {
    let arguments = arguments.into_iter().map(OsString::from);
    McpTransport::stdio(&*PYTHON, std::iter::once(server_py().into_os_string()).chain(arguments))
}

/// The interpreter and the program of a server.
pub(super) fn command() -> (PathBuf, PathBuf) {
    (PYTHON.clone(), server_py())
}

/// A server that serves HTTP until it is dropped.
pub(super) struct HttpServer {
    process: Child,
    pub(super) port: u16,
}

impl HttpServer {
    pub(super) fn start() -> Self {
        Self::start_at(0)
    }

    /// On this port; 0 is any.
    pub(super) fn start_at(port: u16) -> Self {
        let mut process = Command::new(&*PYTHON)
            .arg(server_py())
            .args(["--http", &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says its port");
        Self { process, port: line.trim().parse().expect("it has said its port") }
    }

    pub(super) fn transport(&self) -> McpHttp {
        McpTransport::streamable_http(format!("http://127.0.0.1:{}/mcp", self.port))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
