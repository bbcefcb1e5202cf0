//! Readers of runs that have ended: the time to read all events from the beginning.

use std::time::Instant;

use prost::Message;
use temporal_agents::client::RunEvents;
use temporal_agents_testing::history;
use temporal_agents_tests::bench::Spec;

use super::{Column, Server, WorkerProcess, median, reader};
use crate::clock::own_cpu_ms;

/// The numbers of turns.
const TURNS: [u32; 3] = [50, 200, 1_000];

/// The figures of one reading.
#[derive(Debug)]
pub(super) struct Reading {
    turns: u32,
    history_events: usize,
    kilobytes: usize,
    events: usize,
    seconds: f64,
    cpu_ms: f64,
}

/// Reads the events of each run.
pub(super) async fn measure(quick: bool, readings: &mut Vec<Reading>) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let worker = WorkerProcess::start(server.address(), "watch").await?;
    for turns in TURNS.into_iter().filter(|turns| !quick || *turns <= 50) {
        let ended = server.run(Column::Agents, "watch", Spec::tools(turns)).await?;
        let id = &*ended.handle.info().workflow_id;
        let history = history::fetch(&server.client, id, None).await?;
        let (cpu, began) = (own_cpu_ms(), Instant::now());
        let received = reader::read(RunEvents::new(&server.client).watch(id)).await?;
        readings.push(Reading {
            turns,
            history_events: history.events.len(),
            kilobytes: history.encoded_len() / 1_000,
            events: received.ids.len(),
            seconds: began.elapsed().as_secs_f64(),
            cpu_ms: own_cpu_ms() - cpu,
        });
    }
    drop(worker);
    server.end().await;
    Ok(())
}

/// Prints the medians of the rounds.
pub(super) fn print(readings: Vec<Reading>) {
    println!("Reading a run that has ended:\n");
    println!("| W3 | history events | history, kB | events | s | events/s | CPU, ms |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for turns in TURNS {
        let rounds: Vec<&Reading> = readings.iter().filter(|reading| reading.turns == turns).collect();
        let Some(last) = rounds.last() else { continue };
        let seconds = median(rounds.iter().map(|reading| reading.seconds).collect());
        println!(
            "| T = {turns} | {} | {} | {} | {seconds:.3} | {:.0} | {:.0} |",
            last.history_events,
            last.kilobytes,
            last.events,
            f64::from(u32::try_from(last.events).unwrap_or(u32::MAX)) / seconds,
            median(rounds.iter().map(|reading| reading.cpu_ms).collect()),
        );
    }
    println!();
}
