//! The history of a run with readers and without: its events, and its size.

use temporal_agents::client::RunEvents;
use temporal_agents_testing::history;
use temporal_agents_tests::bench::Spec;
use temporalio_client::WorkflowGetResultOptions;

use super::{Column, MODEL_PAUSE_MS, Server, WorkerProcess, history_size::HistorySize, reader};

const WORKLOADS: [(&str, Spec); 2] = [("W2", Spec::tools(5)), ("W3, T = 50", Spec::tools(50))];
/// Half of the readers share a follower, and half have one each.
const READERS: usize = 20;

/// The histories of one workload, without readers and with them.
#[derive(Debug)]
pub(super) struct Pair {
    workload: &'static str,
    without: HistorySize,
    with: HistorySize,
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

async fn size(server: &Server, spec: Spec, readers: usize) -> anyhow::Result<HistorySize> {
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
    Ok(HistorySize::of(history::fetch(&server.client, &id, None).await?))
}

/// Prints the sizes, and whether they are equal.
pub(super) fn print(pairs: &[Pair]) {
    println!("History with {READERS} readers and without:\n");
    println!(
        "| run | events without | events with | bytes without | bytes with | less clock values, without | with | equal |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|");
    for Pair { workload, without, with } in pairs {
        println!(
            "| {workload} | {} | {} | {} | {} | {} | {} | {} |",
            without.events(),
            with.events(),
            without.bytes,
            with.bytes,
            without.comparable_bytes,
            with.comparable_bytes,
            if without.difference(with).is_none() { "yes" } else { "NO" },
        );
    }
    println!();
}
