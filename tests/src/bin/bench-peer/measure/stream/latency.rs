//! The time from a chunk of the model to its readers.

use temporal_agents::client::RunEvents;
use temporal_agents_tests::bench::{Streamed, Transport};
use tokio::task::JoinSet;

use super::{
    crossing,
    figures::{median, percentile},
    run::{Workers, end, read},
};

/// The numbers of readers.
const READERS: [usize; 3] = [1, 25, 200];

/// The figures of one run.
#[derive(Debug)]
pub(super) struct Figures {
    transport: Transport,
    readers: usize,
    p50: f64,
    p99: f64,
    /// Part of the chunks that arrived as deltas, in percent.
    as_deltas: f64,
}

/// Runs each transport with each number of readers.
pub(super) async fn measure(workers: &Workers<'_>, chunks: u32, rows: &mut Vec<Figures>) -> anyhow::Result<()> {
    for transport in crossing() {
        for readers in READERS {
            rows.push(measure_row(workers, transport, readers, chunks).await?);
        }
    }
    Ok(())
}

async fn measure_row(
    workers: &Workers<'_>,
    transport: Transport,
    readers: usize,
    chunks: u32,
) -> anyhow::Result<Figures> {
    // The readers are connected before the first chunk.
    let work = Streamed { first_pause_ms: 300, chunks, pause_ms: 25 };
    let handle = workers.begin(transport, work).await?;
    let shared = RunEvents::new(&workers.server.client);
    let streams = (0..readers).map(|_| shared.watch_live(&*handle.info().workflow_id));
    let reading: JoinSet<_> = streams.map(|stream| read(stream, work)).collect();
    let (mut latencies, mut as_deltas) = (Vec::new(), 0_u32);
    for received in reading.join_all().await {
        let received = received?;
        latencies.extend(received.latencies);
        as_deltas += u32::try_from(received.as_deltas)?;
    }
    end(&handle).await?;
    latencies.sort();
    Ok(Figures {
        transport,
        readers,
        p50: percentile(&latencies, 50),
        p99: percentile(&latencies, 99),
        as_deltas: f64::from(as_deltas) * 100.0 / f64::from(u32::try_from(latencies.len())?),
    })
}

/// Prints the medians of the rounds.
pub(super) fn print(rows: &[Figures]) {
    println!("From the model to a reader in another process; all readers are in one process, and share its poller.");
    println!("Chunks that the whole message overtakes count with the message:\n");
    println!("| transport | readers | p50, ms | p99, ms | chunks that arrive as deltas |");
    println!("|---|---:|---:|---:|---:|");
    for transport in crossing() {
        for readers in READERS {
            let rounds = || rows.iter().filter(move |row| row.transport == transport && row.readers == readers);
            let of = |figure: fn(&Figures) -> f64| median(rounds().map(figure).collect());
            println!(
                "| {} | {readers} | {:.1} | {:.1} | {:.1} % |",
                transport.name(),
                of(|row| row.p50),
                of(|row| row.p99),
                of(|row| row.as_deltas),
            );
        }
    }
    println!();
}
