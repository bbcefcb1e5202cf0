//! Programs in Python (`tests/python/`), with the official SDK, which pip fetches once into the directory of the build.

use std::{
    ffi::OsStr,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::OnceLock,
    time::Duration,
};

use temporal_agents_testing::AgentEnvironment;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// The SDK, and the types of the events of OpenAI's Responses API.
const SDK_PACKAGES: [&str; 2] = ["temporalio==1.35.0", "openai==3.52.0"];
/// The messages of the OpenTelemetry protocol, and gRPC.
const OTLP_PACKAGES: [&str; 3] = ["opentelemetry-proto==1.45.2", "protobuf==7.36.2", "grpcio==1.85.3"];
const PATIENCE: Duration = Duration::from_mins(2);

/// A running worker; dropping it ends its process.
pub(crate) struct PythonWorker {
    _process: Child,
}

impl PythonWorker {
    /// Starts it against the environment's server, and waits until it runs.
    pub(crate) async fn start(env: &AgentEnvironment, task_queue: &str) -> anyhow::Result<Self> {
        Self::of(command(env, "worker.py").await?.arg(task_queue)).await
    }

    /// Starts a worker by this command, and waits until it runs.
    pub(crate) async fn of(command: &mut Command) -> anyhow::Result<Self> {
        let mut process = command.spawn()?;
        let mut stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut line = String::new();
        match timeout(PATIENCE, stdout.read_line(&mut line)).await {
            Ok(Ok(_)) if line.trim() == "ready" => Ok(Self { _process: process }),
            Ok(_) => {
                let mut said = String::new();
                process.stderr.take().expect("it is piped").read_to_string(&mut said).await?;
                anyhow::bail!("the Python worker ended instead of saying that it is ready: {line}{said}")
            }
            Err(_) => anyhow::bail!("the Python worker was not ready within {PATIENCE:?}"),
        }
    }
}

/// A command that runs a script of `tests/python/` with the address and the namespace of the environment's server.
pub(crate) async fn command(env: &AgentEnvironment, script: &str) -> anyhow::Result<Command> {
    let packages = tokio::task::spawn_blocking(packages).await?.map_err(anyhow::Error::msg)?;
    let mut command = script_with(&packages, script);
    command.args([env.server().address(), env.server().namespace()]);
    Ok(command)
}

/// A command that runs a script of `tests/python/` with the messages of the OpenTelemetry protocol.
pub(crate) async fn with_otlp(script: &str) -> anyhow::Result<Command> {
    static OTLP: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = || OTLP.get_or_init(|| installed(&OTLP_PACKAGES)).clone();
    let packages = tokio::task::spawn_blocking(install).await?.map_err(anyhow::Error::msg)?;
    Ok(script_with(&packages, script))
}

fn script_with(packages: &Path, script: &str) -> Command {
    let mut command = Command::new("python3");
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(script))
        .env("PYTHONPATH", packages)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Where the SDK lies; fetched when it is not there yet. Blocks.
fn packages() -> Result<PathBuf, String> {
    static PACKAGES: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PACKAGES.get_or_init(|| installed(&SDK_PACKAGES)).clone()
}

fn installed(names: &[&str]) -> Result<PathBuf, String> {
    install(Path::new(env!("CARGO_TARGET_TMPDIR")), names).map_err(|error| error.to_string())
}

fn install(below: &Path, names: &[&str]) -> io::Result<PathBuf> {
    let packages = below.join(format!("python-{}", names.join("-")));
    if packages.is_dir() {
        return Ok(packages);
    }
    fs::create_dir_all(below)?;
    let fresh = tempfile::tempdir_in(below)?;
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--target"];
    let arguments = quiet.iter().map(OsStr::new).chain([fresh.path().as_os_str()]).chain(names.iter().map(OsStr::new));
    let output = std::process::Command::new("python3").args(arguments).stdin(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("python3 -m pip cannot install {names:?}: {said}")));
    }
    // Another test run may have been faster; then its directory is as good.
    match fs::rename(fresh.path(), &packages) {
        Err(error) if !packages.is_dir() => Err(error),
        _ => Ok(packages),
    }
}
