//! Measures long conversations: the cost of a turn as they grow.

use std::path::Path;

use temporal_agents_tests::bench::Spec;

use super::{
    Column, Scale, Server, facts,
    figures::{median_time, millis},
    table::Table,
    worker_process::WorkerProcess,
};

pub(super) async fn measure(
    server: &Server,
    column: Column,
    scale: &Scale,
    histories: &Path,
    table: &mut Table,
) -> anyhow::Result<()> {
    for (turns, runs) in scale.long {
        // The whole conversation of a thousand turns, sent a thousand times, exceeds the size limit
        // of a server's history.
        if column == Column::FloorConv && *turns > 200 {
            continue;
        }
        let workload = format!("W3 T={turns}");
        let worker = WorkerProcess::start(server.address(), &workload).await?;
        server.run(column, &workload, Spec::tools(5)).await?;
        let cpu = worker.cpu_ms()?;
        let mut latencies = Vec::new();
        let mut last = None;
        for _ in 0..*runs {
            let ended = server.run(column, &workload, Spec::tools(*turns)).await?;
            latencies.push(ended.took);
            last = Some(ended.handle);
        }
        let cpu = worker.cpu_ms()? - cpu;
        let mut note = |what: &str, value: f64| table.note(&format!("{workload} {what}"), column, value);
        note("wall, ms/turn", millis(median_time(latencies)) / f64::from(*turns));
        note("worker CPU, ms/turn", cpu / f64::from(*turns) / f64::from(u32::try_from(*runs)?));
        note("worker memory peak, MiB", worker.peak_mib()?);
        if let Some(last) = last {
            let file = histories.join(format!("{workload}.bin"));
            facts::note(&server.client, &last, &workload, column, &file, table).await?;
        }
    }
    Ok(())
}
