//! The history of a run with readers and without: its events, and its size.

use prost::Message;
use temporal_agents::client::RunEvents;
use temporal_agents_testing::history::{self, History};
use temporal_agents_tests::bench::Spec;
use temporalio_client::WorkflowGetResultOptions;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{HistoryEvent, history_event::Attributes},
};

use super::{Column, MODEL_PAUSE_MS, Server, WorkerProcess, reader};

const WORKLOADS: [(&str, Spec); 2] = [("W2", Spec::tools(5)), ("W3, T = 50", Spec::tools(50))];
/// Half of the readers share a follower, and half have one each.
const READERS: usize = 20;

/// The histories of one workload, without readers and with them.
#[derive(Debug)]
pub(super) struct Pair {
    workload: &'static str,
    without: Size,
    with: Size,
}

/// The size of a history.
#[derive(Debug, PartialEq, Eq)]
struct Size {
    types: Vec<EventType>,
    bytes: usize,
    /// Bytes without the values that differ between any two runs.
    comparable_bytes: usize,
}

/// Runs each workload without readers and with them.
pub(super) async fn measure(pairs: &mut Vec<Pair>) -> anyhow::Result<()> {
    let server = Server::start().await?;
    let worker = WorkerProcess::start_with(server.address(), "watch", &["--model-pause-ms", MODEL_PAUSE_MS]).await?;
    // The first run of a worker is slower, and a workflow task of its own may hold what is one task later.
    server.run(Column::Agents, "watch", Spec::tools(5)).await?;
    for (workload, spec) in WORKLOADS {
        let without = size(&server, spec, 0).await?;
        let with = size(&server, spec, READERS).await?;
        pairs.push(Pair { workload, without, with });
    }
    drop(worker);
    server.end().await;
    Ok(())
}

async fn size(server: &Server, spec: Spec, readers: usize) -> anyhow::Result<Size> {
    let handle = server.begin(Column::Agents, "watch", spec).await?;
    let id = handle.info().workflow_id.clone();
    let shared = RunEvents::new(&server.client);
    let of_reader =
        |number: usize| if number.is_multiple_of(2) { shared.clone() } else { RunEvents::new(&server.client) };
    let mut reading = reader::read_all((0..readers).map(|number| of_reader(number).watch(&*id)));
    handle.get_result(WorkflowGetResultOptions::default()).await?;
    while let Some(received) = reading.join_next().await {
        received??;
    }
    let history = history::fetch(&server.client, &id, None).await?;
    let types = history.events.iter().map(HistoryEvent::event_type).collect();
    Ok(Size { types, bytes: history.encoded_len(), comparable_bytes: comparable(history).encoded_len() })
}

/// Removes the clock readings and the server's counters: a number may take one byte more or less.
fn comparable(mut history: History) -> History {
    for event in &mut history.events {
        event.event_time = None;
        event.task_id = 0;
        if let Some(Attributes::WorkflowTaskStartedEventAttributes(started)) = &mut event.attributes {
            started.history_size_bytes = 0;
        }
    }
    history
}

/// Prints the sizes, and whether they are equal.
pub(super) fn print(pairs: &[Pair]) {
    println!("History with {READERS} readers and without:\n");
    println!(
        "| run | events without | events with | bytes without | bytes with | less clock values, without | with | equal |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for Pair { workload, without, with } in pairs {
        let is_equal = without.types == with.types && without.comparable_bytes == with.comparable_bytes;
        println!(
            "| {workload} | {} | {} | {} | {} | {} | {} | {} |",
            without.types.len(),
            with.types.len(),
            without.bytes,
            with.bytes,
            without.comparable_bytes,
            with.comparable_bytes,
            if is_equal { "yes" } else { "NO" },
        );
    }
    println!();
}
