//! The measurement: a fresh server per column, a fresh worker process per workload, alternating
//! rounds, medians.
//!
//! | file | content |
//! |---|---|
//! | `scale.rs` | the amount of work measured |
//! | `column.rs` | the measured workflows: the agents, and the floors as their baselines |
//! | `server.rs` | a server, and runs on it |
//! | `process.rs` | a process of this program, measured from outside |
//! | `worker_process.rs` | a worker in a separate process |
//! | `facts.rs` | figures from the history of a run |
//! | `history_size.rs` | the size of a history |
//! | `figures.rs` | medians and percentiles |
//! | `small.rs` | short runs, in sequence and many at a time |
//! | `long.rs` | long conversations |
//! | `endless.rs` | thousands of turns that continue as new |
//! | `prices.rs` | the cost of disabled caches and of alternating workers |
//! | `tools.rs` | many calls of a tool in one response, and large results |
//! | `remote.rs` | calls of a provider behind Redis, beside activities |
//! | `observed.rs` | the CPU that traces and metrics cost |
//! | `parked.rs` | the memory of workflows that wait |
//! | `service/` | the service over HTTP, with many runs and readers |
//! | `stream/` | streamed answers: their price, and the time to their readers |
//! | `watch/` | readers of events: their latency, and the history that they cost |
//! | `replays.rs` | replays of their histories |
//! | `table.rs` | the numbers, and the table of their medians |

mod column;
mod endless;
mod facts;
mod figures;
mod history_size;
mod long;
mod observed;
mod parked;
mod prices;
mod process;
mod remote;
mod replays;
mod scale;
mod server;
mod service;
mod small;
mod stream;
mod table;
mod tools;
mod watch;
mod worker_process;

use tempfile::TempDir;

pub(crate) use endless::endless;
pub(crate) use observed::observed;
pub(crate) use parked::parked;
pub(crate) use prices::prices;
pub(crate) use remote::{Over, remote, remote_once};
pub(crate) use scale::Scale;
pub(crate) use service::{Load, service};
pub(crate) use stream::stream;
pub(crate) use tools::tools;
pub(crate) use watch::watch;

use self::{column::Column, server::Server, table::Table};

/// Measures `rounds` rounds, and prints the table.
pub(crate) async fn run(rounds: u32, scale: &Scale) -> anyhow::Result<()> {
    let mut table = Table::default();
    for round in 1..=rounds {
        for column in Column::ALL {
            eprintln!("round {round} of {rounds}: {}", column.name());
            let histories = TempDir::with_prefix("bench-peer-")?;
            let server = Server::start().await?;
            small::measure(&server, column, scale, histories.path(), &mut table).await?;
            long::measure(&server, column, scale, histories.path(), &mut table).await?;
            server.end().await;
            replays::measure(column, scale, histories.path(), &mut table).await?;
        }
    }
    println!("{}", table.markdown());
    println!("Medians of {rounds} rounds, {}.", scale.name);
    Ok(())
}
