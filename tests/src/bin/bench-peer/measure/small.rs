//! Measures short runs, in sequence and many at a time.

use std::{path::Path, time::Instant};

use futures::{StreamExt, TryStreamExt, stream};
use temporal_agents_tests::bench::Spec;

use super::{Column, Scale, Server, facts, median, millis, table::Table, worker_process::WorkerProcess};

/// The short workloads by name.
const WORKLOADS: [(&str, Spec); 3] =
    [("W1 chat", Spec::CHAT), ("W2 tools", Spec::tools(5)), ("W4 handoff", Spec::HANDOFF)];

pub(super) async fn measure(
    server: &Server,
    column: Column,
    scale: &Scale,
    histories: &Path,
    table: &mut Table,
) -> anyhow::Result<()> {
    for (workload, spec) in WORKLOADS {
        let worker = WorkerProcess::start(server.address(), workload).await?;
        for _ in 0..scale.warm {
            server.run(column, workload, spec).await?;
        }
        let mut note = |what: &str, value: f64| table.note(&format!("{workload} {what}"), column, value);

        let mut latencies = Vec::new();
        let mut last = None;
        for _ in 0..scale.sequential {
            let ended = server.run(column, workload, spec).await?;
            latencies.push(ended.took);
            last = Some(ended.handle);
        }
        note("latency, ms", millis(median(latencies)));

        let (worker_cpu, server_cpu, began) = (worker.cpu_ms()?, server.cpu_ms()?, Instant::now());
        let runs = stream::iter(0..scale.crowd).map(|_| server.run(column, workload, spec));
        runs.buffer_unordered(scale.in_flight).try_for_each(|_| async { Ok(()) }).await?;
        let took = began.elapsed();
        let runs = f64::from(u32::try_from(scale.crowd)?);
        note("at 50: runs/s", runs / took.as_secs_f64());
        note("at 50: worker CPU, ms/run", (worker.cpu_ms()? - worker_cpu) / runs);
        note("at 50: server CPU, ms/run", (server.cpu_ms()? - server_cpu) / runs);
        note("worker memory peak, MiB", worker.peak_mib()?);
        if let Some(last) = last {
            let file = histories.join(format!("{workload}.bin"));
            facts::note(&server.client, &last, workload, column, &file, table).await?;
        }
    }
    Ok(())
}
