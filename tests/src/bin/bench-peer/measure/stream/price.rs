//! The history and the CPU that each transport of deltas costs.

use std::time::Instant;

use clap::ValueEnum;
use temporal_agents_testing::history;
use temporal_agents_tests::bench::{Streamed, Transport};

use super::{
    figures::median,
    history_size::HistorySize,
    run::{Workers, end, read},
};

/// The figures of one run for each transport, in the order of the transports.
pub(super) type Round = Vec<Price>;

/// The figures of one run, with one reader.
#[derive(Debug)]
pub(super) struct Price {
    history: HistorySize,
    /// The time in which the model streams.
    streaming: f64,
    /// The CPU times of the whole run, in milliseconds for each second of it.
    worker_cpu: f64,
    server_cpu: f64,
}

/// Runs each transport once.
pub(super) async fn measure(workers: &Workers<'_>, chunks: u32, rounds: &mut Vec<Round>) -> anyhow::Result<()> {
    let mut round = Round::new();
    for transport in Transport::value_variants() {
        let work = Streamed { first_pause_ms: 300, chunks, pause_ms: 25 };
        let (server, worker) = (workers.server, workers.of(*transport));
        let (worker_cpu, server_cpu, began) = (worker.cpu_ms()?, server.cpu_ms()?, Instant::now());
        let handle = workers.begin(*transport, work).await?;
        read(workers.live(&handle), work).await?;
        end(&handle).await?;
        let seconds = began.elapsed().as_secs_f64();
        round.push(Price {
            worker_cpu: (worker.cpu_ms()? - worker_cpu) / seconds,
            server_cpu: (server.cpu_ms()? - server_cpu) / seconds,
            streaming: work.duration().as_secs_f64(),
            history: HistorySize::of(history::fetch(&server.client, &handle.info().workflow_id, None).await?),
        });
    }
    rounds.push(round);
    Ok(())
}

/// Prints the medians of the rounds, and the differences of the histories.
pub(super) fn print(rounds: &[Round]) {
    println!("Prices of a streamed answer with one reader; the model sends 40 chunks for each second:\n");
    println!(
        "| transport | events of the run | bytes | events for each second of streaming | bytes for each second | \
         worker CPU, ms/s | server CPU, ms/s |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (place, transport) in Transport::value_variants().iter().enumerate() {
        let of = |figure: &dyn Fn(&Price, &Price) -> f64| {
            median(rounds.iter().map(|round| figure(&round[place], off(round))).collect())
        };
        println!(
            "| {} | {:.0} | {:.0} | {:.1} | {:.0} | {:.1} | {:.1} |",
            transport.name(),
            of(&|price, _| count(price.history.events())),
            of(&|price, _| count(price.history.bytes)),
            of(&|price, off| (count(price.history.events()) - count(off.history.events())) / price.streaming),
            of(&|price, off| (count(price.history.comparable_bytes) - count(off.history.comparable_bytes))
                / price.streaming),
            of(&|price, _| price.worker_cpu),
            of(&|price, _| price.server_cpu),
        );
    }
    println!("\nHistory beside that without a transport, less clock values, counters and process ids:");
    for (place, transport) in Transport::value_variants().iter().enumerate() {
        if *transport == Transport::Off {
            continue;
        }
        let differences: Vec<String> =
            rounds.iter().filter_map(|round| off(round).history.difference(&round[place].history)).collect();
        match differences.first() {
            None => println!("- {}: equal, event for event, in all rounds", transport.name()),
            Some(first) => println!("- {}: differs in {} rounds: {first}", transport.name(), differences.len()),
        }
    }
    println!();
}

fn off(round: &Round) -> &Price {
    &round[Transport::Off as usize]
}

#[expect(clippy::cast_precision_loss, reason = "a double has all integers up to nine petabytes")]
fn count(number: usize) -> f64 {
    number as f64
}
