//! The time from an event in history to its readers.

use std::time::{Duration, Instant};

use temporal_agents::client::RunEvents;
use temporal_agents_tests::bench::Spec;
use temporalio_client::WorkflowGetResultOptions;

use super::{
    Column, MODEL_PAUSE_MS, Server, WorkerProcess,
    figures::{median, percentile},
    reader::{self, Received},
};
use crate::clock::own_cpu_ms;

/// The readers of one run.
struct Readers {
    name: &'static str,
    count: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// One handle, and so one follower, for all readers.
    Shared,
    /// A connection and a follower for each reader.
    Separate,
    /// A loop of long polls that decodes nothing, as the baseline.
    Bare,
}

const ROWS: [Readers; 6] = [
    Readers { name: "none", count: 0, kind: Kind::Shared },
    Readers { name: "1 that decodes nothing", count: 1, kind: Kind::Bare },
    Readers { name: "1", count: 1, kind: Kind::Shared },
    Readers { name: "25, one follower", count: 25, kind: Kind::Shared },
    Readers { name: "200, one follower", count: 200, kind: Kind::Shared },
    Readers { name: "25, a connection and a follower each", count: 25, kind: Kind::Separate },
];

/// The figures of one run.
#[derive(Debug)]
pub(super) struct Figures {
    /// Number of events of the run.
    events: usize,
    /// Number of readers whose events are not those of a reader after the end.
    incomplete: usize,
    p50: f64,
    p99: f64,
    longest: f64,
    readers_cpu: f64,
    server_cpu: f64,
    seconds: f64,
}

/// Runs a workflow for each row, and adds its figures.
pub(super) async fn measure(quick: bool, rows: &mut Vec<Vec<Figures>>) -> anyhow::Result<()> {
    rows.resize_with(ROWS.len(), Vec::new);
    let server = Server::start().await?;
    let worker = WorkerProcess::start_with(server.address(), "watch", &["--model-pause-ms", MODEL_PAUSE_MS]).await?;
    server.run(Column::Agents, "watch", Spec::tools(5)).await?;
    for (readers, figures) in ROWS.iter().zip(rows) {
        figures.push(measure_row(&server, readers, Spec::tools(if quick { 10 } else { 100 })).await?);
    }
    drop(worker);
    server.end().await;
    Ok(())
}

async fn measure_row(server: &Server, readers: &Readers, spec: Spec) -> anyhow::Result<Figures> {
    let shared = RunEvents::new(&server.client);
    let mut sources = Vec::new();
    for _ in 0..readers.count {
        sources.push(match readers.kind {
            Kind::Separate => RunEvents::new(&server.connect().await?),
            Kind::Shared | Kind::Bare => shared.clone(),
        });
    }
    let (cpu, server_cpu, began) = (own_cpu_ms(), server.cpu_ms()?, Instant::now());
    let handle = server.begin(Column::Agents, "watch", spec).await?;
    let id = handle.info().workflow_id.clone();
    let mut reading = match readers.kind {
        Kind::Bare => [reader::poll(server.client.clone(), id.clone())].into_iter().collect(),
        Kind::Shared | Kind::Separate => reader::read_all(sources.iter().map(|events| events.watch(&*id))),
    };
    handle.get_result(WorkflowGetResultOptions::default()).await?;
    let seconds = began.elapsed().as_secs_f64();
    let mut all = Vec::new();
    while let Some(received) = reading.join_next().await {
        all.push(received??);
    }
    let (readers_cpu, server_cpu) = (own_cpu_ms() - cpu, server.cpu_ms()? - server_cpu);
    let expected = reader::read(RunEvents::new(&server.client).watch(&*id)).await?.ids;
    let incomplete = match readers.kind {
        Kind::Bare => 0,
        Kind::Shared | Kind::Separate => all.iter().filter(|received| received.ids != expected).count(),
    };
    let latencies = sorted(all);
    Ok(Figures {
        events: expected.len(),
        incomplete,
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
        longest: percentile(&latencies, 100),
        readers_cpu,
        server_cpu,
        seconds,
    })
}

fn sorted(all: Vec<Received>) -> Vec<Duration> {
    let mut latencies: Vec<Duration> = all.into_iter().flat_map(|received| received.latencies).collect();
    latencies.sort();
    latencies
}

/// Prints the medians of the rounds.
pub(super) fn print(rows: Vec<Vec<Figures>>) {
    println!("Latency from the event in history to the reader; the model pauses for {MODEL_PAUSE_MS} ms:\n");
    println!(
        "| readers of a run | events | readers with other events | p50, ms | p99, ms | longest, ms | \
         this process' CPU, ms/s | server's CPU, ms/s | run, s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (Readers { name, .. }, rounds) in ROWS.iter().zip(rows) {
        let of = |figure: fn(&Figures) -> f64| median(rounds.iter().map(figure).collect());
        let shown = |value: f64| if value.is_nan() { "-".to_owned() } else { format!("{value:.1}") };
        println!(
            "| {name} | {} | {} | {} | {} | {} | {:.0} | {:.0} | {:.2} |",
            rounds.last().map_or(0, |figures| figures.events),
            rounds.iter().map(|figures| figures.incomplete).sum::<usize>(),
            shown(of(|figures| figures.p50)),
            shown(of(|figures| figures.p99)),
            shown(of(|figures| figures.longest)),
            of(|figures| figures.readers_cpu / figures.seconds),
            of(|figures| figures.server_cpu / figures.seconds),
            of(|figures| figures.seconds),
        );
    }
    println!();
}
