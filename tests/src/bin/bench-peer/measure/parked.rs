//! Measures the memory of workflows that wait: that of chats, beside that of workflows of the plain
//! SDK that have done the same work.
//!
//! Each row is measured on a server and a worker of its own: (RSS of the worker with all workflows
//! parked - RSS before the first one) / number of workflows. That contains the parts of the program
//! that the worker reads into memory when it first uses them, so the last column counts from the
//! tenth part of the workflows on.
//!
//! A worker keeps the workflows that are in its cache, 1,000 by default; the others are in their
//! histories alone. 2,000 workflows on an optimised worker with the default cache, of each:
//!
//! | workflow | kB |
//! |---|---:|
//! | of the plain SDK, only waits | 20 |
//! | of the plain SDK, after one activity | 27 |
//! | a chat by hand: an update and an activity | 34 |
//! | `ChatWorkflow`, after one message | 47 |
//! | `ChatWorkflow`, waits for an approval | 62 |
//!
//! Temporal's SDK keeps most of it. 500 cached workflows on an unoptimised worker, beyond the first
//! tenth:
//!
//! | workflow | kB |
//! |---|---:|
//! | of the plain SDK, only waits | 35 |
//! | of the plain SDK, after one activity | 49 |
//! | a chat by hand: an update and an activity | 64 |
//! | `ChatWorkflow`, after one message | 78 |
//! | `ChatWorkflow`, waits for an approval | 97 |
//!
//! A heap profile of the `ChatWorkflow`, of 82 kB at the time:
//!
//! | kept by | kB |
//! |---|---:|
//! | the SDK's core: events of the latest tasks | 14 |
//! | the SDK's core: state machines, one of them for each command | 10 |
//! | the SDK's core: queues of commands, metrics, others | 23 |
//! | the SDK's instance: a channel of 7, its start, the latest activation, a request | 17 |
//! | the SDK: marker, search attributes and memo of the run's note | 3 |
//! | the conversation cache, 4 of it definitions that runs have shared since then | 9 |
//! | the workflow: conversation, ledger, runner, replies, futures | 5 |

use std::{ops::Range, time::Duration};

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use temporal_agents::{
    client::{AgentHandle, ChatHandle},
    wire::{ChatOutcome, ChatRequest},
    workflow::ChatWorkflow,
};
use temporal_agents_tests::bench::{Kind, ParkedBare, ParkedConv, Spec};
use temporalio_client::{WorkflowExecuteUpdateOptions, WorkflowQueryOptions, WorkflowStartOptions};
use tokio::time::{sleep, timeout};

use super::{Server, figures::median, worker_process::WorkerProcess};

/// Number of workflows that are brought to their wait at the same time.
const IN_FLIGHT: usize = 40;
/// A workflow that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(1);
/// The time after which the worker has returned the memory that it does not use.
const SETTLE_TIME: Duration = Duration::from_secs(5);
const QUEUE: &str = "parked";

/// What the parked workflows are.
#[derive(Clone, Copy, Debug)]
enum Parked {
    /// [`ParkedBare`], after this number of activities.
    Bare(u32),
    /// [`ParkedConv`], after one message.
    Conv,
    /// A chat after one message.
    Answered,
    /// A chat whose first message waits for an approval.
    WaitsForApproval,
}

const ROWS: [(&str, Parked); 5] = [
    ("a workflow of the plain SDK that only waits", Parked::Bare(0)),
    ("a workflow of the plain SDK, after one activity", Parked::Bare(1)),
    ("a chat by hand with the plain SDK, after one message", Parked::Conv),
    ("a ChatWorkflow, after one message", Parked::Answered),
    ("a ChatWorkflow whose first message waits for an approval", Parked::WaitsForApproval),
];

/// Parks `count` workflows of each kind on a worker whose cache holds `cached` of them, and prints
/// the medians of the rounds.
pub(crate) async fn parked(count: u32, cached: u32, rounds: u32) -> anyhow::Result<()> {
    let mut measured: Vec<Vec<[f64; 4]>> = ROWS.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        for ((name, kind), measured) in ROWS.iter().zip(&mut measured) {
            eprintln!("round {round} of {rounds}: {name}");
            measured.push(measure(*kind, count, cached).await?);
        }
    }
    println!(
        "| {count} workflows on one worker | RSS at 0, MB | RSS at {count}, MB | of each, kB | beyond the first tenth, kB |"
    );
    println!("|---|---:|---:|---:|---:|");
    for ((name, _), measured) in ROWS.iter().zip(measured) {
        let [before, after, of_each, beyond] =
            [0, 1, 2, 3].map(|place| median(measured.iter().map(|it| it[place]).collect()));
        println!("| {name} | {:.1} | {:.1} | {of_each:.1} | {beyond:.1} |", before / 1e3, after / 1e3);
    }
    println!("Medians of {rounds} rounds. The cache of the worker holds {cached} workflows.");
    Ok(())
}

async fn measure(kind: Parked, count: u32, cached: u32) -> anyhow::Result<[f64; 4]> {
    let server = Server::start().await?;
    let cached = cached.to_string();
    let worker = WorkerProcess::start_with(server.address(), QUEUE, &["--cached-workflows", &cached]).await?;
    let before = worker.resident_kb()?;
    let tenth = count / 10;
    park_all(&server, kind, 0..tenth).await?;
    let at_tenth = worker.resident_kb()?;
    park_all(&server, kind, tenth..count).await?;
    let after = worker.resident_kb()?;
    drop(worker);
    server.end().await;
    Ok([before, after, (after - before) / f64::from(count), (after - at_tenth) / f64::from(count - tenth)])
}

/// Parks workflows with these numbers, and returns once the worker is idle.
async fn park_all(server: &Server, kind: Parked, numbers: Range<u32>) -> anyhow::Result<()> {
    let parking = stream::iter(numbers).map(|number| timeout(PATIENCE, park(server, kind, number)));
    let parked = parking.buffer_unordered(IN_FLIGHT).map(|parked| parked.context("a workflow does not wait")?);
    parked.try_collect::<()>().await?;
    sleep(SETTLE_TIME).await;
    Ok(())
}

/// Starts a workflow, and returns once it waits.
async fn park(server: &Server, kind: Parked, number: u32) -> anyhow::Result<()> {
    let client = &server.client;
    let id = format!("parked-{number}");
    let options = WorkflowStartOptions::new(QUEUE, &*id).build();
    let waits = Spec { kind: Kind::Tools, turns: 1, ..Spec::CHAT };
    match kind {
        Parked::Bare(activities) => {
            let bare = client.start_workflow(ParkedBare::run, activities, options).await?;
            while !bare.query(ParkedBare::is_parked, (), WorkflowQueryOptions::default()).await? {}
        }
        Parked::Conv => {
            let conv = client.start_workflow(ParkedConv::run, (), options).await?;
            let said = Spec::CHAT.message();
            let answer = conv.execute_update(ParkedConv::say, said, WorkflowExecuteUpdateOptions::default()).await?;
            ensure!(answer.len() == Spec::CHAT.text_bytes, "it answered {answer:?}");
        }
        Parked::Answered => {
            client.start_workflow(ChatWorkflow::run, ChatRequest::new("clerk"), options).await?;
            let reply = ChatHandle::new(client, id).send(Spec::CHAT.message()).await?;
            ensure!(matches!(reply.outcome, ChatOutcome::Answered { .. }), "it answered {reply:?}");
        }
        Parked::WaitsForApproval => {
            client.start_workflow(ChatWorkflow::run, ChatRequest::new("clerk"), options).await?;
            let (chat, agent) = (ChatHandle::new(client, &*id), AgentHandle::new(client, id));
            tokio::select! {
                reply = chat.send(waits.message()) => anyhow::bail!("it answered {:?}", reply?),
                asked = agent.wait_for_interruptions() => ensure!(asked?.len() == 1, "it asks something else"),
            }
        }
    }
    Ok(())
}
