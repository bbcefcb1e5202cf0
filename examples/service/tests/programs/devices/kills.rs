//! Calls of a device while the worker, or the process that holds the device, is killed.
//!
//! Each seed starts runs that write to files of their own, and kills the victim with SIGKILL, at
//! random points. Each call ends with one output, and each line is written at most once. A run before
//! the first kill, and one after the last, write both of their lines. `SEEDS=20` plays more.
#![cfg(unix)]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use futures::future::join_all;
use temporal_agents::{
    client::{AgentHandle, AgentRuns, NewRun, RunEvents},
    tool::OUTCOME_UNKNOWN,
    wire::EventKind,
};
use temporal_agents_examples_service::devices::request;
use temporal_agents_testing::{DevServer, RedisServer};
use temporalio_client::Client;
use tokio::time::{sleep, timeout};

use super::{connect, spawn, start, start_device};

/// The longest time from the last kill to the end of all runs: an attempt whose worker was killed
/// ends after 30 s without a heartbeat.
const PATIENCE: Duration = Duration::from_mins(5);

/// Runs of a seed, each with one call that reads and two that write.
const RUNS: u64 = 3;

/// Kills of a seed, and the longest time between two of them.
const KILLS: u64 = 3;
const LONGEST_PAUSE_MS: u64 = 1_200;

/// Numbers that a seed decides.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a time shorter than this one (xorshift64*).
    fn below(&mut self, millis: u64) -> Duration {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        Duration::from_millis((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % millis)
    }
}

/// The output of a call that writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Written,
    /// It may be written.
    Unknown,
    /// The device was offline.
    NotCalled,
}

impl Outcome {
    fn of(output: &str, file: &str) -> anyhow::Result<Self> {
        // All attempts may have lost their worker, too.
        if output.contains(OUTCOME_UNKNOWN) || output.contains(r#""type":"Timeout""#) {
            Ok(Self::Unknown)
        } else if output.contains("'laptop' is offline") || output.contains("was not called") {
            Ok(Self::NotCalled)
        } else {
            ensure!(output.starts_with(&format!("{file} has ")), "{file}: {output}");
            Ok(Self::Written)
        }
    }
}

/// Approves whatever is asked, until the run has ended. Its worker may be killed at any time.
async fn approve(client: &Client, id: &str) {
    let handle = AgentHandle::new(client, id).by("ada");
    loop {
        if let Ok(Ok(asked)) = timeout(Duration::from_secs(10), handle.wait_for_interruptions()).await {
            for question in asked {
                let _ = timeout(Duration::from_secs(10), handle.approve(&*question.id)).await;
            }
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the outputs and the failures of the calls of a run, once it has ended: one for each call.
async fn outputs(client: &Client, id: &str) -> anyhow::Result<Vec<String>> {
    let (mut calls, mut outputs) = (Vec::new(), Vec::<(String, String)>::new());
    let mut failed = String::new();
    let events = RunEvents::new(client);
    let mut watching = events.watch(id);
    while let Some(event) = watching.next().await {
        match event?.kind {
            EventKind::ToolCall { call_id, .. } => calls.push(call_id),
            EventKind::ToolFailed { call_id, failure, .. } => {
                failed.clone_from(&call_id);
                outputs.push((call_id, serde_json::to_string(&failure)?));
            }
            // The message about a failed call.
            EventKind::ToolOutput { call_id, .. } if call_id == failed => failed.clear(),
            EventKind::ToolOutput { call_id, output, .. } => {
                outputs.push((call_id, output.as_str().unwrap_or_default().to_owned()));
            }
            EventKind::RunFinished { .. } => break,
            failed @ EventKind::RunFailed { .. } => anyhow::bail!("{id} has failed: {failed:?}"),
            _ => {}
        }
    }
    let ended: Vec<&String> = outputs.iter().map(|(id, _)| id).collect();
    ensure!(ended == calls.iter().collect::<Vec<_>>(), "{id}: calls {calls:?}, outputs {outputs:?}");
    Ok(outputs.into_iter().map(|(_, output)| output).collect())
}

/// Plays a run to its end, and checks its calls; returns the outcomes of those that write.
async fn play(client: &Client, directory: &Path, file: String) -> anyhow::Result<Vec<Outcome>> {
    let new = NewRun::new(request("ada", &file));
    let id = AgentRuns::new(client, "devices").start_run(new).await?;
    let outputs = tokio::select! {
        outputs = timeout(PATIENCE, outputs(client, &id)) => outputs.with_context(|| format!("{id} has not ended"))??,
        () = approve(client, &id) => Vec::new(),
    };
    ensure!(outputs.len() == 3, "{file}: {outputs:?}");
    let outcomes: Vec<Outcome> =
        outputs[1..].iter().map(|output| Outcome::of(output, &file)).collect::<anyhow::Result<_>>()?;
    // A device that was told of a call as its connection was lost may still write.
    sleep(Duration::from_millis(300)).await;
    let written = fs::read_to_string(directory.join(&file)).unwrap_or_default();
    for (outcome, line) in outcomes.iter().zip(["line 1", "line 2"]) {
        let times = written.lines().filter(|written| *written == line).count();
        let is_allowed = match outcome {
            Outcome::Written => times == 1,
            Outcome::Unknown => times <= 1,
            Outcome::NotCalled => times == 0,
        };
        ensure!(is_allowed, "{file}: {line:?} is written {times} times, and its call says {outputs:?}");
    }
    Ok(outcomes)
}

/// Plays a run while nothing is killed: its calls must write.
async fn play_undisturbed(client: &Client, directory: &Path, file: &str) -> anyhow::Result<()> {
    let outcomes = play(client, directory, file.to_owned()).await?;
    ensure!(outcomes == [Outcome::Written; 2], "nothing was killed, and {file} has {outcomes:?}");
    Ok(())
}

/// The process that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Worker,
    Gateway,
}

/// Kills a process, and starts it again, while runs call the device.
async fn series(victim: Victim) -> anyhow::Result<()> {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(2);
    let (server, broker) = (DevServer::start().await?, RedisServer::start().await?);
    let (client, directory, redis) = (connect(&server).await?, tempfile::tempdir()?, broker.url());
    let holds = ["gateway", "--redis", &redis, "--user", "ada=secret"];
    let (mut gateway, address) = start(&holds)?;
    let port = address.trim_start_matches("ws://127.0.0.1:").split('/').next().context("a port")?;
    // The next one has the same port, so that the device finds it.
    let holds = [&holds[..], &["--port", port]].concat();
    let works = ["worker", "--redis", &redis, "--address", server.address()];
    let (mut worker, _) = start(&works)?;
    let device = start_device(&address, "secret", directory.path())?;
    play_undisturbed(&client, directory.path(), "notes-before").await?;

    let (began, mut runs) = (Instant::now(), Vec::new());
    for seed in 1..=seeds {
        let mut random = Random::new(seed);
        for number in 0..RUNS {
            let (client, directory) = (client.clone(), directory.path().to_owned());
            let file = format!("notes-{seed}-{number}");
            runs.push(tokio::spawn(async move { play(&client, &directory, file).await }));
        }
        for _ in 0..KILLS {
            sleep(random.below(LONGEST_PAUSE_MS)).await;
            let (process, arguments) = match victim {
                Victim::Worker => (&mut worker, &works[..]),
                Victim::Gateway => (&mut gateway, &holds[..]),
            };
            process.child.kill()?;
            process.child.wait()?;
            sleep(random.below(500)).await;
            *process = spawn(arguments)?;
        }
    }
    let mut outcomes: BTreeMap<Outcome, usize> = BTreeMap::new();
    let count = runs.len();
    for run in join_all(runs).await {
        for outcome in run?? {
            *outcomes.entry(outcome).or_default() += 1;
        }
    }
    // A device that starts now waits until it is connected to the last gateway.
    drop(device);
    let _device = start_device(&address, "secret", directory.path())?;
    play_undisturbed(&client, directory.path(), "notes-after").await?;
    let took = began.elapsed().as_secs();
    println!("{victim:?}: {seeds} seeds, {} kills, {count} runs, {outcomes:?}, {took} s", seeds * KILLS);
    server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_ends_once_while_the_worker_is_killed() -> anyhow::Result<()> {
    series(Victim::Worker).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_ends_once_while_the_process_that_holds_the_device_is_killed() -> anyhow::Result<()> {
    series(Victim::Gateway).await
}
