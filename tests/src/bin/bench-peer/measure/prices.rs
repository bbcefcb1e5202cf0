//! Measures the cost of disabled caches and of alternating workers: the same long run on workers
//! that keep less and less in memory.

use temporal_agents_testing::history;
use temporal_agents_tests::bench::Spec;

use super::{
    Column, Server,
    figures::{median, millis},
    worker_process::WorkerProcess,
};

/// A row of the table: the arguments and the number of the workers.
struct CacheSettings {
    name: &'static str,
    arguments: &'static [&'static str],
    workers: usize,
}

const ROWS: [CacheSettings; 5] = [
    CacheSettings { name: "all is remembered", arguments: &[], workers: 1 },
    CacheSettings { name: "no conversation cache", arguments: &["--conversation-bytes", "0"], workers: 1 },
    CacheSettings { name: "no workflow cache", arguments: &["--cached-workflows", "0"], workers: 1 },
    CacheSettings { name: "neither", arguments: &["--conversation-bytes", "0", "--cached-workflows", "0"], workers: 1 },
    CacheSettings {
        name: "two workers that take turns, no workflow cache",
        arguments: &["--cached-workflows", "0"],
        workers: 2,
    },
];

/// Measures runs of `turns` turns, and prints the medians of the rounds.
pub(crate) async fn prices(turns: u32, rounds: u32) -> anyhow::Result<()> {
    let mut measured: Vec<Vec<[f64; 4]>> = ROWS.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for (row, measured) in ROWS.iter().zip(&mut measured) {
            eprintln!("round {round} of {rounds}: {}", row.name);
            measured.push(measure(row, turns).await?);
        }
    }
    println!("| T = {turns} | wall, ms/turn | workers' CPU, ms/turn | server's CPU, ms/turn | history, bytes |");
    println!("|---|---:|---:|---:|---:|");
    for (row, measured) in ROWS.iter().zip(measured) {
        let [wall, cpu, server, bytes] =
            [0, 1, 2, 3].map(|place| median(measured.iter().map(|it| it[place]).collect()));
        println!("| {} | {wall:.1} | {cpu:.1} | {server:.1} | {bytes:.0} |", row.name);
    }
    println!("Medians of {rounds} rounds.");
    Ok(())
}

async fn measure(row: &CacheSettings, turns: u32) -> anyhow::Result<[f64; 4]> {
    let server = Server::start().await?;
    let mut workers = Vec::new();
    for _ in 0..row.workers {
        workers.push(WorkerProcess::start_with(server.address(), "prices", row.arguments).await?);
    }
    server.run(Column::Agents, "prices", Spec::tools(5)).await?;
    let cpu = |workers: &[WorkerProcess]| workers.iter().map(|worker| worker.cpu_ms()).sum::<anyhow::Result<f64>>();
    let (workers_before, server_before) = (cpu(&workers)?, server.cpu_ms()?);
    let ended = server.run(Column::Agents, "prices", Spec::tools(turns)).await?;
    let (of_workers, of_server) = (cpu(&workers)? - workers_before, server.cpu_ms()? - server_before);
    let history = history::fetch(&server.client, &ended.handle.info().workflow_id, None).await?;
    let bytes = u32::try_from(prost::Message::encoded_len(&history))?;
    server.end().await;
    let turns = f64::from(turns);
    Ok([millis(ended.took) / turns, of_workers / turns, of_server / turns, bytes.into()])
}
