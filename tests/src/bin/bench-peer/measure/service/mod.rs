//! Measures the service over HTTP: many runs at once that stream, each with several readers of its
//! server-sent events, with one worker and one process of the API.
//!
//! | file | content |
//! |---|---|
//! | this file | the runs, their readers, and the table |
//! | `reader.rs` | a reader of a run, over its own connection |
//!
//! All readers connect while the models pause before their first chunk, and stay until their runs
//! end. The facts of each reader must be those that the history has, in order and each once, and
//! the chunks of its text those of the run's output. The readers are in the process of the
//! measurement.

mod reader;

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use temporal_agents::{client::RunEvents, wire::EventKind};
use temporal_agents_tests::bench::{Streamed, Transport};
use tokio::{task::JoinHandle, time::sleep};

use self::reader::{Api, Received, read};
use super::{Server, figures::percentile, process::Process, worker_process::WorkerProcess};

/// Number of requests that are made at the same time.
const CONNECTING: usize = 20;
/// The time after which connections are idle.
const SETTLE_TIME: Duration = Duration::from_secs(1);
const QUEUE: &str = "service";
const AGENT: &str = "narrator";

/// The amount of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Number of runs at the same time.
    pub(crate) runs: u32,
    /// Number of readers of each run.
    pub(crate) readers: u32,
    /// The answer of each run. The pause before its first chunk must be long enough for all readers
    /// to connect.
    pub(crate) work: Streamed,
}

/// The memory of the API's process, in kB.
struct Memory {
    /// After one run, before the others.
    before: f64,
    /// With one reader of each run, without an event under way.
    one_each: f64,
    /// With all readers, without an event under way.
    all: f64,
    /// The peak until all runs have ended.
    peak: f64,
}

/// Measures the load, and prints a table.
pub(crate) async fn service(load: Load) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let deltas = Transport::Heartbeat.name();
    let worker = WorkerProcess::start_with(server.address(), QUEUE, &["--deltas", &deltas]).await?;
    let (process, address) = Process::start(&["api", "--address", server.address(), "--task-queue", QUEUE])?;
    let api = Api::new(address);
    warm_up(&api, load).await?;

    let ids: Vec<String> = (0..load.runs).map(|number| format!("run-{number}")).collect();
    let began = Instant::now();
    let before = process.resident_kb()?;
    process.forget_peak()?;
    let said = load.work.message();
    stream::iter(&ids)
        .map(|id| api.start_run(id, AGENT, &said))
        .buffer_unordered(CONNECTING)
        .try_collect::<()>()
        .await?;
    let mut reading = connect(&api, &ids, 1).await?;
    sleep(SETTLE_TIME).await;
    let one_each = process.resident_kb()?;
    reading.extend(connect(&api, &ids, load.readers - 1).await?);
    sleep(SETTLE_TIME).await;
    let all = process.resident_kb()?;
    let pause = Duration::from_millis(load.work.first_pause_ms).checked_sub(began.elapsed());
    sleep(pause.context("the readers connected too slowly: a longer --first-pause-ms")?).await;

    let cpu = |process: &Process| process.cpu_ms();
    let (api_cpu, worker_cpu, server_cpu, streaming) =
        (cpu(&process)?, cpu(&worker)?, server.cpu_ms()?, Instant::now());
    let mut received = Vec::new();
    for (id, reader) in reading {
        received.push((id, reader.await??));
    }
    let seconds = streaming.elapsed().as_secs_f64();
    let cpus = [cpu(&process)? - api_cpu, cpu(&worker)? - worker_cpu, server.cpu_ms()? - server_cpu];
    let memory = Memory { before, one_each, all, peak: process.peak_mib()? * 1024.0 * 1.024 };
    check(&server, &ids, &received, load).await?;
    print(load, &received, &memory, cpus, seconds);
    drop((worker, process));
    server.end().await;
    Ok(())
}

/// Makes one run with one reader: the first of a process costs more than the others.
async fn warm_up(api: &Api, load: Load) -> anyhow::Result<()> {
    let work = Streamed { first_pause_ms: 200, chunks: 5, pause_ms: load.work.pause_ms };
    api.start_run("warm-up", AGENT, &work.message()).await?;
    ensure!(read(api.events("warm-up").await?).await?.is_complete, "the first run has no end");
    sleep(SETTLE_TIME).await;
    Ok(())
}

type Reading = (String, JoinHandle<anyhow::Result<Received>>);

/// Connects `readers` readers of each run.
async fn connect(api: &Api, ids: &[String], readers: u32) -> anyhow::Result<Vec<Reading>> {
    let each = ids.iter().flat_map(|id| (0..readers).map(move |_| id.clone()));
    let connected = stream::iter(each).map(|id| async move {
        let body = api.events(&id).await?;
        anyhow::Ok((id, tokio::spawn(read(body))))
    });
    connected.buffer_unordered(CONNECTING).try_collect().await
}

/// Checks that each reader has received what the history of its run has, and all of its answer.
async fn check(server: &Server, ids: &[String], received: &[(String, Received)], load: Load) -> anyhow::Result<()> {
    let events = RunEvents::new(&server.client);
    let mut checked = 0;
    for id in ids {
        let (mut facts, mut output) = (Vec::new(), None);
        let mut history = events.watch(&**id);
        while let Some(event) = history.next().await {
            let event = event?;
            if let EventKind::Message { text, .. } = &event.kind {
                output = Some(reader::chunks_of(&text.clone().into())?);
            }
            facts.push(event.id);
        }
        let output = output.context("the run has no answer")?;
        ensure!(output.len() == usize::try_from(load.work.chunks)?, "{id} has {} chunks", output.len());
        for (_, reader) in received.iter().filter(|(of, _)| of == id) {
            ensure!(reader.is_complete, "a reader of {id} has no end");
            ensure!(reader.facts == facts, "a reader of {id} has {:?} and not {facts:?}", reader.facts);
            ensure!(reader.chunks == output, "a reader of {id} has another text");
            checked += 1;
        }
    }
    ensure!(checked == load.runs * load.readers, "{checked} readers were checked");
    Ok(())
}

fn print(load: Load, received: &[(String, Received)], memory: &Memory, cpus: [f64; 3], seconds: f64) {
    let Load { runs, readers, work } = load;
    let count = f64::from(runs * readers);
    let sum = |of: fn(&Received) -> usize| received.iter().map(|(_, reader)| of(reader)).sum::<usize>();
    let float = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
    let (events, chunks) = (float(sum(|it| it.events)), float(sum(|it| it.chunks.len())));
    let mut latencies: Vec<_> = received.iter().flat_map(|(_, reader)| reader.latencies.iter().copied()).collect();
    latencies.sort();
    let [api, worker, server] = cpus;
    println!(
        "{runs} runs at once, {count} readers; each run streams {} chunks, one every {} ms, over {seconds:.1} s.",
        work.chunks, work.pause_ms,
    );
    println!("Each reader has received every fact of its run, in order and once, and its whole text.\n");
    println!("| | |");
    println!("|---|---:|");
    println!("| from the chunk to the reader, p50, ms | {:.1} |", percentile(&latencies, 50));
    println!("| from the chunk to the reader, p99, ms | {:.1} |", percentile(&latencies, 99));
    println!("| chunks that arrived as deltas | {:.1} % |", float(sum(|it| it.as_deltas)) / chunks * 100.0);
    println!("| events to readers, each second | {:.0} |", events / seconds);
    println!("| bytes of an event, with its chunks | {:.0} |", float(sum(|it| it.bytes)) / events);
    println!("| API: memory before, MB | {:.1} |", memory.before / 1e3);
    let followed = f64::from(runs);
    println!(
        "| API: memory of a run with its first reader, kB | {:.1} |",
        (memory.one_each - memory.before) / followed
    );
    let others = count - followed;
    println!("| API: memory of each other reader, kB | {:.1} |", (memory.all - memory.one_each) / others);
    println!(
        "| API: peak memory while it streams, of each reader, kB | {:.1} |",
        (memory.peak - memory.before) / count
    );
    println!("| API: CPU of each reader, ms per second | {:.2} |", api / seconds / count);
    println!("| API: CPU of each event, µs | {:.1} |", api * 1e3 / events);
    println!(
        "| API, worker, server: CPU, % of a core | {:.0}, {:.0}, {:.0} |",
        api / seconds / 10.0,
        worker / seconds / 10.0,
        server / seconds / 10.0
    );
}
