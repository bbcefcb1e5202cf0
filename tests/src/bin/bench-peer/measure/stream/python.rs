//! The streaming of Temporal's Python plugin for the OpenAI Agents SDK (`tests/python/stream_bench.py`),
//! with the packages that pip fetches once into the directory of the build.

use std::{
    env,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, ensure};
use temporal_agents_tests::bench::Streamed;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

const PACKAGES: [&str; 4] =
    ["temporalio==1.35.0", "temporalio-openai-agents==1.1.0", "openai-agents==0.22.3", "openai==3.52.0"];
const TASK_QUEUE: &str = "python";
/// A program that is silent for longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// A worker and a reader of the plugin, in a process each. Dropping them ends the processes.
pub(super) struct Python {
    reader: Program,
    _worker: Program,
}

/// A running program, which prints lines and follows those that it reads.
struct Program {
    _process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Python {
    /// Starts worker and reader; `None` without the packages.
    pub(super) async fn start(packages: &Result<PathBuf, String>, address: &str) -> anyhow::Result<Option<Self>> {
        let Ok(packages) = packages else { return Ok(None) };
        let worker = Program::start(packages, "worker", address).await?;
        let reader = Program::start(packages, "reader", address).await?;
        let mut python = Self { reader, _worker: worker };
        // The first run of a worker is slower.
        python.first_text(Streamed { first_pause_ms: 0, chunks: 5, pause_ms: 5 }).await?;
        Ok(Some(python))
    }

    /// Returns the time from the start of a run to its first text at the reader.
    pub(super) async fn first_text(&mut self, work: Streamed) -> anyhow::Result<Duration> {
        self.reader.input.write_all(format!("{}\n", work.message()).as_bytes()).await?;
        let took: f64 = self.reader.line().await?.trim().parse()?;
        Ok(Duration::from_secs_f64(took / 1e3))
    }
}

impl Program {
    async fn start(packages: &Path, role: &str, address: &str) -> anyhow::Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/stream_bench.py");
        let mut process = Command::new("python3")
            .arg(script)
            .args([role, address, TASK_QUEUE])
            .env("PYTHONPATH", packages)
            // Nothing leaves the machine.
            .env("OPENAI_AGENTS_DISABLE_TRACING", "1")
            .env_remove("OPENAI_API_KEY")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let input = process.stdin.take().context("the program has no input")?;
        let output = BufReader::new(process.stdout.take().context("the program has no output")?).lines();
        let mut program = Self { _process: process, input, output };
        let first = program.line().await?;
        ensure!(first.trim() == "ready", "the Python {role} printed {first:?}");
        Ok(program)
    }

    async fn line(&mut self) -> anyhow::Result<String> {
        let line = timeout(PATIENCE, self.output.next_line()).await.context("the Python program is silent")??;
        line.context("the Python program has ended")
    }
}

/// Installs the packages, unless that was done before.
///
/// # Errors
/// The reason why there is no plugin.
pub(super) async fn install() -> Result<PathBuf, String> {
    let installed = async {
        let program = env::current_exe()?;
        let build = program.ancestors().nth(2).context("the program is in no directory of a build")?;
        let packages = build.join("tmp").join(format!("python-{}", PACKAGES.join("-")));
        if packages.is_dir() {
            return Ok(packages);
        }
        eprintln!("installing {}", PACKAGES.join(" "));
        fs::create_dir_all(build.join("tmp"))?;
        let fresh = tempfile::tempdir_in(build.join("tmp"))?;
        let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--target"];
        let to = [fresh.path().as_os_str()];
        let arguments = quiet.iter().map(OsStr::new).chain(to).chain(PACKAGES.iter().map(OsStr::new));
        let output = Command::new("python3").args(arguments).stdin(Stdio::null()).output().await?;
        ensure!(output.status.success(), "pip: {}", String::from_utf8_lossy(&output.stderr));
        fs::rename(fresh.path(), &packages)?;
        Ok(packages)
    };
    installed.await.map_err(|error: anyhow::Error| format!("{error:#}"))
}
