//! Measures many calls of a tool in one response, and large results: their time, their memory, and
//! the size of their history.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use prost::Message;
use temporal_agents_testing::history;
use temporal_agents_tests::bench::{Burst, script::BURST_ANSWER};
use temporalio_client::{WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::{HasWorkflowDefinition, WorkflowDefinition, protos::temporal::api::enums::v1::EventType};
use tokio::time::timeout;

use super::{Server, figures::median, worker_process::WorkerProcess};

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(10);

const ROWS: [(&str, Burst); 3] = [
    ("1,000 calls at a time", Burst { calls: 1_000, result_bytes: 100 }),
    ("200 results of 200 kB", Burst { calls: 200, result_bytes: 200_000 }),
    ("a result of 5 MB, of which the model is told", Burst { calls: 1, result_bytes: 5_000_000 }),
];

/// Runs each workload `rounds` times on fresh servers and workers, and prints the medians.
pub(crate) async fn tools(rounds: u32) -> anyhow::Result<()> {
    let mut measured: Vec<Vec<[f64; 6]>> = ROWS.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for ((name, burst), measured) in ROWS.iter().zip(&mut measured) {
            eprintln!("round {round} of {rounds}: {name}");
            measured.push(measure(*burst).await?);
        }
    }
    println!(
        "| run | wall, s | worker CPU, s | server CPU, s | worker memory peak, MiB | history, kB | workflow tasks |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for ((name, _), measured) in ROWS.iter().zip(measured) {
        let [wall, cpu, server, peak, bytes, tasks] =
            [0, 1, 2, 3, 4, 5].map(|place| median(measured.iter().map(|it| it[place]).collect()));
        println!("| {name} | {wall:.2} | {cpu:.2} | {server:.2} | {peak:.0} | {bytes:.0} | {tasks:.0} |");
    }
    println!("Medians of {rounds} rounds.");
    Ok(())
}

/// The workflow, by name.
struct Work;

impl WorkflowDefinition for Work {
    type Input = Burst;
    type Output = String;

    fn name(&self) -> &'static str {
        "burst_bench"
    }
}

impl HasWorkflowDefinition for Work {
    type Run = Self;
}

async fn measure(burst: Burst) -> anyhow::Result<[f64; 6]> {
    let server = Server::start().await?;
    let worker = WorkerProcess::start(server.address(), "tools").await?;
    let (cpu, server_cpu, began) = (worker.cpu_ms()?, server.cpu_ms()?, Instant::now());
    let options = WorkflowStartOptions::new("tools", "burst").build();
    let handle = server.client.start_workflow(Work, burst, options).await?;
    let result = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await;
    let output = result.with_context(|| format!("{burst:?} has not ended after {PATIENCE:?}"))??;
    let took = began.elapsed().as_secs_f64();
    ensure!(output == BURST_ANSWER, "it answered {output:?} to {burst:?}");
    let (cpu, server_cpu, peak) = (worker.cpu_ms()? - cpu, server.cpu_ms()? - server_cpu, worker.peak_mib()?);
    let history = history::fetch(&server.client, "burst", None).await?;
    server.end().await;
    let bytes = u32::try_from(history.encoded_len())?;
    let tasks = history.events.iter().filter(|event| event.event_type() == EventType::WorkflowTaskStarted).count();
    let tasks = u32::try_from(tasks)?;
    Ok([took, cpu / 1e3, server_cpu / 1e3, peak, f64::from(bytes) / 1e3, tasks.into()])
}
