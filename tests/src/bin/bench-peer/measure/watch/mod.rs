//! Measures readers of events ([`RunEvents`](temporal_agents::client::RunEvents)).
//!
//! | file | content |
//! |---|---|
//! | `history.rs` | the history of a run with readers and without |
//! | `latency.rs` | the time from an event in history to its readers |
//! | `price.rs` | what notes about runs add to a history |
//! | `catching_up.rs` | readers of runs that have ended |
//! | `reader.rs` | a reader, and the events that it has received |

mod catching_up;
mod history;
mod latency;
mod price;
mod reader;

use super::{
    Column, Server,
    figures::{self, median},
    history_size,
    worker_process::WorkerProcess,
};

/// The pause of the model before each answer, in milliseconds: readers are connected before most
/// events happen.
const MODEL_PAUSE_MS: &str = "30";

/// Measures `rounds` rounds, and prints the tables.
pub(crate) async fn watch(rounds: u32, quick: bool) -> anyhow::Result<()> {
    let (mut histories, mut latencies, mut readings) = Default::default();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        history::measure(&mut histories).await?;
        latency::measure(quick, &mut latencies).await?;
        catching_up::measure(quick, &mut readings).await?;
    }
    history::print(&histories);
    latency::print(latencies);
    price::print().await?;
    catching_up::print(readings);
    println!("Medians of {rounds} rounds{}.", if quick { ", quick: not a result" } else { "" });
    Ok(())
}
