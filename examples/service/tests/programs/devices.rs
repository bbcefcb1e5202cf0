//! A device, the process that holds its WebSocket, and a worker that holds none: three processes, one of which is
//! stopped while a person is asked.

mod kills;

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

use anyhow::Context;
use temporal_agents::{
    client::{AgentHandle, AgentRuns, NewRun, RunEvents},
    wire::{EventKind, RunEvent},
};
use temporal_agents_examples_service::devices::request;
use temporal_agents_testing::{DevServer, RedisServer};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use tokio::time::{sleep, timeout};

/// Longest time for anything.
const PATIENCE: Duration = Duration::from_mins(2);

struct Process {
    child: Child,
    /// Kept open, since the process writes to it.
    output: BufReader<ChildStdout>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // On Unix this is SIGKILL.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(arguments: &[&str]) -> anyhow::Result<Process> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_devices"));
    let mut child = command.args(arguments).stdout(Stdio::piped()).spawn()?;
    let output = BufReader::new(child.stdout.take().context("piped")?);
    Ok(Process { child, output })
}

fn start(arguments: &[&str]) -> anyhow::Result<(Process, String)> {
    let mut process = spawn(arguments)?;
    loop {
        let mut line = String::new();
        anyhow::ensure!(process.output.read_line(&mut line)? > 0, "{arguments:?} has ended");
        if let Some(ready) = line.strip_prefix("READY") {
            return Ok((process, ready.trim().to_owned()));
        }
    }
}

fn start_device(gateway: &str, token: &str, directory: &Path) -> anyhow::Result<Process> {
    let directory = directory.to_string_lossy();
    Ok(start(&["device", "--gateway", gateway, "--token", token, "--directory", &directory])?.0)
}

async fn connect(server: &DevServer) -> anyhow::Result<Client> {
    let url: Url = format!("http://{}", server.address()).parse()?;
    let connection = Connection::connect(ConnectionOptions::new(url).build()).await?;
    Ok(Client::new(connection, ClientOptions::new(server.namespace()).build())?)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_play_a_run_with_a_device() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let server = DevServer::start().await?;
    let client = connect(&server).await?;
    let directory = tempfile::tempdir()?;
    let (gateway, address) = start(&["gateway", "--redis", &redis.url(), "--user", "ada=secret"])?;
    let device = start_device(&address, "secret", directory.path())?;
    let work = || start(&["worker", "--redis", &redis.url(), "--address", server.address()]);
    let (worker, _) = work()?;

    let runs = AgentRuns::new(&client, "devices");
    let id = runs.start_run(NewRun::new(request("ada", "notes"))).await?;
    let handle = AgentHandle::new(&client, &*id).by("ada");
    let asked = timeout(PATIENCE, handle.wait_for_interruptions()).await??;
    assert_eq!(asked[0].tool, "dev_laptop_write_file");
    assert!(!directory.path().join("notes").exists(), "nothing is written without approval");
    // The worker restarts while a person is asked.
    drop(worker);
    let (worker, _) = work()?;
    handle.approve(&*asked[0].id).await?;
    let second = async {
        loop {
            let asked = handle.wait_for_interruptions().await?;
            if let Some(next) = asked.into_iter().find(|next| next.arguments.contains("line 2")) {
                return anyhow::Ok(next);
            }
            sleep(Duration::from_millis(50)).await;
        }
    };
    let second = timeout(PATIENCE, second).await??;
    // All restart. A query is answered from the history alone: nobody knows the device then.
    drop((device, gateway, worker));
    let (_worker, _) = work()?;
    assert_eq!(timeout(PATIENCE, handle.state()).await??.interruptions, std::slice::from_ref(&second));
    let (_gateway, address) = start(&["gateway", "--redis", &redis.url(), "--user", "ada=secret"])?;
    let _device = start_device(&address, "secret", directory.path())?;
    handle.approve(&*second.id).await?;
    let events = RunEvents::new(&client);
    let ended = async {
        let mut outputs = Vec::new();
        let mut watching = std::pin::pin!(events.watch(&id));
        while let Some(event) = futures::StreamExt::next(&mut watching).await {
            let RunEvent { kind, .. } = event?;
            match kind {
                EventKind::ToolOutput { output, .. } => outputs.push(output.as_str().unwrap_or_default().to_owned()),
                EventKind::RunFinished { .. } => return anyhow::Ok(outputs),
                EventKind::RunFailed { .. } => anyhow::bail!("the run has failed: {kind:?}"),
                _ => {}
            }
        }
        anyhow::bail!("the run has not ended")
    };
    let outputs = timeout(PATIENCE, ended).await??;
    assert_eq!(outputs, ["[]", "notes has 1 lines", "notes has 2 lines"]);
    assert_eq!(fs::read_to_string(directory.path().join("notes"))?, "line 1\nline 2\n", "each effect once");

    // Nobody else's run gets the device, and no run does without it.
    let id = runs.start_run(NewRun::new(request("bob", "notes"))).await?;
    let failed = async {
        let mut watching = std::pin::pin!(events.watch(&id));
        while let Some(event) = futures::StreamExt::next(&mut watching).await {
            if let EventKind::RunFailed { .. } = &event.as_ref().map_err(|error| anyhow::anyhow!("{error}"))?.kind {
                return anyhow::Ok(serde_json::to_string(&event?.kind)?);
            }
        }
        anyhow::bail!("the run has not failed")
    };
    let failed = timeout(PATIENCE, failed).await??;
    assert!(failed.contains("not there for user"), "{failed}");
    server.shutdown().await;
    Ok(())
}
