//! Everything at once: Redis, a dev server, and the other commands as processes.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::Context;
use temporal_agents::client::{AgentHandle, AgentRuns, NewRun, event_lines::RunPrinter, transcript::Transcript};
use temporal_agents_testing::{DevServer, RedisServer};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use tokio::time::sleep;

/// A process of this program, which ends with it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a command of this program, and returns the rest of its line `READY`.
    fn start(arguments: &[&str]) -> anyhow::Result<(Self, String)> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut process = Self(command.args(arguments).stdout(Stdio::piped()).spawn()?);
        let lines = BufReader::new(process.0.stdout.take().context("its output is a pipe")?).lines();
        for line in lines {
            if let Some(ready) = line?.strip_prefix("READY") {
                return Ok((process, ready.trim().to_owned()));
            }
        }
        anyhow::bail!("{} has ended", arguments.join(" "))
    }
}

/// Shows a run that works on a device, with approvals.
pub(super) async fn show() -> anyhow::Result<()> {
    println!("Starting Redis and a Temporal dev server ...");
    let redis = RedisServer::start().await?;
    let server = DevServer::start().await?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().to_string_lossy().into_owned();
    let (_gateway, address) = Process::start(&["gateway", "--redis", &redis.url(), "--user", "ada=secret"])?;
    let (_device, _) = Process::start(&["device", "--gateway", &address, "--token", "secret", "--directory", &path])?;
    let (_worker, _) = Process::start(&["worker", "--redis", &redis.url(), "--address", server.address()])?;
    let url: Url = format!("http://{}", server.address()).parse()?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    let client = Client::new(connection, ClientOptions::new(server.namespace()).build())?;
    let id = AgentRuns::new(&client, "devices").start_run(NewRun::new(super::request("ada", "notes"))).await?;
    let approving = tokio::spawn(approve(client.clone(), id.clone()));
    RunPrinter::new(&client, &*id).print_to_end().await?;
    approving.abort();
    println!("\n{}", Transcript::of_workflow(&client, &id, None).await?.to_markdown());
    println!("the device has: {:?}", std::fs::read_to_string(directory.path().join("notes"))?);
    server.shutdown().await;
    Ok(())
}

/// Approves whatever is asked, until the run has ended.
async fn approve(client: Client, id: String) -> anyhow::Result<()> {
    let handle = AgentHandle::new(&client, id).by("ada");
    loop {
        for question in handle.wait_for_interruptions().await? {
            println!("ada approves {}", question.tool);
            handle.approve(&*question.id).await?;
        }
        sleep(Duration::from_millis(100)).await;
    }
}
