//! The time from the start of a run to its first text in another process.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context;
use temporal_agents_tests::bench::{Spec, Streamed, Transport, streaming_model::StreamingModel};

use super::{
    Column, crossing,
    figures::{median, median_time, millis},
    python::Python,
    run::{Workers, end, queue, read_first_text},
};
use crate::clock::monotonic_nanos;

/// The times from a call of the model to its first chunk, in milliseconds.
const PAUSES_MS: [u64; 2] = [0, 300];

/// The medians of a round, in milliseconds.
#[derive(Debug)]
pub(super) struct Round {
    /// A run of W1 on the worker without a transport, from the request that starts it to its result.
    w1: f64,
    first_texts: Vec<FirstText>,
}

/// The medians of a row, in milliseconds.
#[derive(Debug)]
struct FirstText {
    pause: u64,
    row: Row,
    /// The time until the reader has the text.
    received: f64,
    /// The time until the model sends it; not a number where that is not known.
    sent: f64,
}

/// The time until the reader has the text, and until the model sends it.
struct Took(Duration, Option<Duration>);

/// The source of a first text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    /// The provider, in this process.
    Provider,
    /// A run on the worker with this transport.
    Run(Transport),
    /// A run of the Python plugin.
    Python,
}

impl Row {
    fn all(with_python: bool) -> impl Iterator<Item = Self> {
        let runs = crossing().map(Self::Run);
        std::iter::once(Self::Provider).chain(runs).chain(with_python.then_some(Self::Python))
    }

    fn name(self) -> String {
        match self {
            Self::Provider => "the provider alone".to_owned(),
            Self::Run(transport) => transport.name(),
            Self::Python => "the Python plugin, Workflow Streams".to_owned(),
        }
    }
}

/// Measures each row `times` times, in turn.
pub(super) async fn measure(
    workers: &Workers<'_>,
    mut python: Option<&mut Python>,
    times: usize,
    rounds: &mut Vec<Round>,
) -> anyhow::Result<()> {
    let rows: Vec<Row> = Row::all(python.is_some()).collect();
    let mut w1 = Vec::new();
    let mut first_texts = Vec::new();
    for first_pause_ms in PAUSES_MS {
        let work = Streamed { first_pause_ms, chunks: 20, pause_ms: 25 };
        let mut took: Vec<Vec<Took>> = rows.iter().map(|_| Vec::new()).collect();
        for _ in 0..times {
            w1.push(workers.server.run(Column::Agents, &queue(Transport::Off), Spec::CHAT).await?.took);
            for (row, took) in rows.iter().zip(&mut took) {
                took.push(match (row, &mut python) {
                    (Row::Provider, _) => Took(of_provider(work).await?, None),
                    (Row::Run(transport), _) => of_run(workers, *transport, work).await?,
                    (Row::Python, Some(python)) => Took(python.first_text(work).await?, None),
                    (Row::Python, None) => continue,
                });
            }
        }
        first_texts.extend(rows.iter().zip(took).map(|(row, took)| FirstText {
            pause: first_pause_ms,
            row: *row,
            received: median(took.iter().map(|took| millis(took.0)).collect()),
            sent: median(took.iter().filter_map(|took| took.1).map(millis).collect()),
        }));
    }
    rounds.push(Round { w1: millis(median_time(w1)), first_texts });
    Ok(())
}

async fn of_provider(work: Streamed) -> anyhow::Result<Duration> {
    let (began, first) = (Instant::now(), Mutex::new(None));
    let note = |_: &str| {
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| began.elapsed());
    };
    StreamingModel(monotonic_nanos).answer(work, note).await?;
    first.into_inner().unwrap_or_else(PoisonError::into_inner).context("the model has sent nothing")
}

async fn of_run(workers: &Workers<'_>, transport: Transport, work: Streamed) -> anyhow::Result<Took> {
    let began = monotonic_nanos();
    let handle = workers.begin(transport, work).await?;
    let sent = read_first_text(workers.live(&handle)).await?;
    let received = monotonic_nanos();
    end(&handle).await?;
    let since = |time: u64| Duration::from_nanos(time.saturating_sub(began));
    Ok(Took(since(received), Some(since(sent))))
}

/// Prints the medians of the rounds, and the ratios. `skipped` is the reason why there is no Python
/// plugin.
pub(super) fn print(rounds: &[Round], skipped: Option<&String>) {
    let figure = |pause: u64, row: Row, figure: fn(&FirstText) -> f64| {
        let is_wanted = |text: &&FirstText| text.pause == pause && text.row == row;
        median(rounds.iter().filter_map(|round| round.first_texts.iter().find(is_wanted)).map(figure).collect())
    };
    let of = |pause: u64, row: Row| figure(pause, row, |text| text.received);
    let w1 = median(rounds.iter().map(|round| round.w1).collect());
    println!("From the start of a run to its first text in another process:\n");
    println!(
        "| | the model begins at once, ms | of that, until the model sends it | over the provider | x W1 | \
         after 300 ms, ms | over the provider |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for row in Row::all(skipped.is_none()) {
        let [at_once, later] = PAUSES_MS.map(|pause| of(pause, row));
        let [over, over_later] = PAUSES_MS.map(|pause| of(pause, row) - of(pause, Row::Provider));
        let sent = Some(figure(0, row, |text| text.sent)).filter(|sent| !sent.is_nan());
        let sent = sent.map_or_else(|| "-".to_owned(), |sent| format!("{sent:.1}"));
        println!(
            "| {} | {at_once:.1} | {sent} | {over:.1} | {:.2} | {later:.1} | {over_later:.1} |",
            row.name(),
            at_once / w1,
        );
    }
    println!("| W1, start to result, without a transport | {w1:.1} | - | | 1.00 | | |");
    if let Some(reason) = skipped {
        println!("| the Python plugin | SKIPPED: {} | | | | | |", reason.replace(['\n', '|'], " "));
    }
    let fastest = crossing().min_by(|one, other| of(0, Row::Run(*one)).total_cmp(&of(0, Row::Run(*other))));
    if let Some(fastest) = fastest {
        let [over, over_later] = PAUSES_MS.map(|pause| of(pause, Row::Run(fastest)) - of(pause, Row::Provider));
        let ratio = of(0, Row::Run(fastest)) / w1;
        println!("\nThe fastest transport between processes is {}:", fastest.name());
        println!("- target, at most 2 x W1: {ratio:.2} x W1, {}", verdict(ratio <= 2.0));
        println!("- aim, at most 40 ms over the provider: {over:.1} ms, {}", verdict(over <= 40.0));
        println!("- the aim, if the model begins after 300 ms: {over_later:.1} ms, {}", verdict(over_later <= 40.0));
    }
    println!();
}

fn verdict(is_reached: bool) -> &'static str {
    if is_reached { "reached" } else { "MISSED" }
}
