//! Measures short runs, in sequence and many at a time.

use std::{path::Path, time::Instant};

use futures::{StreamExt, TryStreamExt, stream};
use temporal_agents_tests::bench::Spec;
use temporalio_client::{Client, WorkflowHandle};

use super::{
    Column, Scale, Server, facts,
    figures::{median_time, millis},
    table::Table,
    worker_process::WorkerProcess,
};

/// The workload of five turns with a tool.
pub(super) const TOOLS: (&str, Spec) = ("W2 tools", Spec::tools(5));
/// The short workloads by name.
const WORKLOADS: [(&str, Spec); 3] = [("W1 chat", Spec::CHAT), TOOLS, ("W4 handoff", Spec::HANDOFF)];

/// The figures of a workload.
pub(super) struct Small {
    /// Median of the runs in sequence, in milliseconds.
    latency: f64,
    runs_per_second: f64,
    /// CPU of a run, with many at a time, in milliseconds.
    pub(super) worker_cpu: f64,
    server_cpu: f64,
    last: Option<WorkflowHandle<Client, Column>>,
}

pub(super) async fn measure(
    server: &Server,
    column: Column,
    scale: &Scale,
    histories: &Path,
    table: &mut Table,
) -> anyhow::Result<()> {
    for (workload, spec) in WORKLOADS {
        let worker = WorkerProcess::start(server.address(), workload).await?;
        let small = measure_one(server, &worker, column, (workload, spec), scale).await?;
        let mut note = |what: &str, value: f64| table.note(&format!("{workload} {what}"), column, value);
        note("latency, ms", small.latency);
        note("at 50: runs/s", small.runs_per_second);
        note("at 50: worker CPU, ms/run", small.worker_cpu);
        note("at 50: server CPU, ms/run", small.server_cpu);
        note("worker memory peak, MiB", worker.peak_mib()?);
        if let Some(last) = small.last {
            let file = histories.join(format!("{workload}.bin"));
            facts::note(&server.client, &last, workload, column, &file, table).await?;
        }
    }
    Ok(())
}

/// Measures a workload on a fresh worker, whose task queue has the workload's name.
pub(super) async fn measure_one(
    server: &Server,
    worker: &WorkerProcess,
    column: Column,
    (workload, spec): (&str, Spec),
    scale: &Scale,
) -> anyhow::Result<Small> {
    for _ in 0..scale.warm {
        server.run(column, workload, spec).await?;
    }
    let mut latencies = Vec::new();
    let mut last = None;
    for _ in 0..scale.sequential {
        let ended = server.run(column, workload, spec).await?;
        latencies.push(ended.took);
        last = Some(ended.handle);
    }
    let (worker_cpu, server_cpu, began) = (worker.cpu_ms()?, server.cpu_ms()?, Instant::now());
    let runs = stream::iter(0..scale.crowd).map(|_| server.run(column, workload, spec));
    runs.buffer_unordered(scale.in_flight).try_for_each(|_| async { Ok(()) }).await?;
    let took = began.elapsed();
    let runs = f64::from(u32::try_from(scale.crowd)?);
    Ok(Small {
        latency: millis(median_time(latencies)),
        runs_per_second: runs / took.as_secs_f64(),
        worker_cpu: (worker.cpu_ms()? - worker_cpu) / runs,
        server_cpu: (server.cpu_ms()? - server_cpu) / runs,
        last,
    })
}
