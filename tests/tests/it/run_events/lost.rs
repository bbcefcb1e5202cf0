//! Readers that disconnect, a worker that is killed, a server that is restarted: every fact is read once.
//!
//! `SEEDS=200` plays 200 workflows; the default is 20.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context;
use futures::future::try_join_all;
use temporal_agents::{
    AgentsPlugin, RunConfig,
    client::RunEvents,
    inline::InlineRunner,
    wire::{AgentRequest, RunEvent},
    workflow::{AgentSet, AgentWorkflow, ContinueOptions, ModelActivityOptions},
};
use temporal_agents_testing::{
    DevServer, DevServerOptions, FakeModel,
    environment::WorkerThread,
    fake_model::{Reply, item, text},
};
use temporalio_client::{Client, WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::UntypedWorkflow;
use temporalio_sdk::WorkerOptions;
use tokio::time::timeout;

use crate::PATIENCE;

use super::{
    Differences,
    reading::{ids, read},
};
use crate::continuing::support::{page_call, reader};

const QUEUE: &str = "agents";
/// Workflows that run at the same time, on one server.
const AT_ONCE: u64 = 20;
const TURNS: u32 = 6;

/// Numbers that follow from a seed (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    /// A number below this one.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.next() as usize % limit
    }

    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        u32::try_from((mixed ^ (mixed >> 27)) >> 32).unwrap_or_default()
    }
}

fn model() -> FakeModel {
    FakeModel::function(|call, _| -> Reply {
        let reply = if call.turn > TURNS { text("The end.") } else { item(page_call(call.turn, 5)) };
        reply.delayed(Duration::from_millis(200))
    })
}

fn worker(server: &DevServer) -> anyhow::Result<WorkerThread> {
    let mut config = RunConfig::default();
    config.max_turns = None;
    let activity = ModelActivityOptions::builder().heartbeat(Duration::from_secs(2)).build();
    let set = AgentSet::new((reader,))
        .config(config)
        .model_activity(activity)
        .continue_when(ContinueOptions::builder().new_events(25).build());
    let mut options = WorkerOptions::new(QUEUE)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .build();
    // A workflow of a killed worker does not wait for its cache to be given up.
    options.max_cached_workflows = 0;
    options.max_heartbeat_throttle_interval = Duration::from_millis(100);
    AgentsPlugin::new(model()).agents((reader,)).install(&mut options)?;
    Ok(WorkerThread::start(server.target_url(), server.namespace(), options)?)
}

/// Reads a workflow to its end, and lets the connection go after a random number of events each time.
async fn restless(client: &Client, workflow_id: &str, mut random: Random) -> anyhow::Result<Vec<RunEvent>> {
    let shared = RunEvents::new(client);
    let mut seen: Vec<RunEvent> = Vec::new();
    loop {
        let events = if random.next().is_multiple_of(2) { shared.clone() } else { RunEvents::new(client) };
        let mut stream = match seen.last().and_then(|event| event.cursor.clone()) {
            Some(cursor) => events.watch_from(workflow_id, cursor),
            None => events.watch(workflow_id),
        };
        for _ in 0..=random.next() % 9 {
            // Some readers leave while they wait.
            let patience = Duration::from_millis(u64::from(1 + random.next() % 3_000));
            match timeout(patience, stream.next()).await {
                Ok(Some(event)) => seen.push(event?),
                Ok(None) => return Ok(seen),
                Err(_) => break,
            }
        }
    }
}

/// Plays the workflows of these seeds.
async fn play(first: u64, count: u64) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let file = directory.path().join("server.db").display().to_string();
    let options = || DevServerOptions::builder().port(port).extra_args(vec!["--db-filename".to_owned(), file.clone()]);
    let server = DevServer::start_with(options().build()).await?;
    let client = server.client().await?;
    let mut running = worker(&server)?;
    let name = |seed: u64| format!("story-{seed}");
    for seed in first..first + count {
        let request = AgentRequest::new("reader", "Read it to me.");
        client
            .start_workflow(AgentWorkflow::run, request, WorkflowStartOptions::new(QUEUE, name(seed)).build())
            .await?;
    }
    let readers = (first..first + count).flat_map(|seed| [(seed, 1_u8), (seed, 2)]).map(|(seed, number)| {
        let (client, name) = (client.clone(), name(seed));
        async move {
            let read = timeout(PATIENCE, restless(&client, &name, Random(seed * 2 + u64::from(number)))).await;
            read.with_context(|| format!("{name} is not read within {PATIENCE:?}"))?.map(|events| (name, events))
        }
    });
    let readers = tokio::spawn(try_join_all(readers.collect::<Vec<_>>()));

    // The kill and the restart come in the middle of the first story.
    let mut story = RunEvents::new(&client).watch(name(first));
    for _ in 0..4 + first % 7 {
        timeout(PATIENCE, story.next()).await?.context("the story is over")??;
    }
    running = tokio::task::spawn_blocking(move || running.kill().map(|()| running)).await??;
    drop(running);
    running = worker(&server)?;
    for _ in 0..3 {
        timeout(PATIENCE, story.next()).await?.context("the story is over")??;
    }
    drop(story);
    server.shutdown().await;
    let server = DevServer::start_with(options().build()).await?;

    let (uninterrupted, mut differences) = (facts_of_an_inline_run().await?, Differences::default());
    for (name, events) in readers.await?? {
        let all = read(&client, &name).await?;
        differences.compare(&name, &uninterrupted, &within_a_run(all.clone()));
        assert_eq!(ids(&events), ids(&all), "{name}");
        assert_eq!(ids(&all).into_iter().collect::<BTreeSet<_>>().len(), all.len(), "{name}");
        assert_eq!(all.last().map(|event| event.kind.name()), Some("run_finished"), "{name}");
        let outputs = all.iter().filter(|event| event.kind.name() == "tool_output").count();
        assert_eq!(outputs, TURNS as usize, "{name}");
        let handle = client.get_workflow_handle::<UntypedWorkflow>(&*name);
        handle.get_result(WorkflowGetResultOptions::default()).await?;
    }
    differences.finish();
    tokio::task::spawn_blocking(move || running.stop()).await??;
    server.shutdown().await;
    Ok(())
}

/// Returns the facts of the same run where nothing is killed.
async fn facts_of_an_inline_run() -> anyhow::Result<Vec<RunEvent>> {
    let facts: Arc<Mutex<Vec<RunEvent>>> = Arc::default();
    let told = Arc::clone(&facts);
    let mut config = RunConfig::default();
    config.max_turns = None;
    let runner = InlineRunner::with_config(model(), config).on_event(move |event| {
        if !event.is_delta() {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(event.clone());
        }
    });
    runner.run(&reader(), "Read it to me.").await?;
    let facts = facts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(facts)
}

/// Joins the parts of a run that its executions tell: a run in a process has one.
fn within_a_run(mut facts: Vec<RunEvent>) -> Vec<RunEvent> {
    facts.retain(|fact| fact.kind.name() != "run_resumed");
    for fact in &mut facts {
        fact.id.replace_range(..fact.run.len(), "run");
        "run".clone_into(&mut fact.run);
    }
    facts
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_come_and_go_see_every_fact_once() -> anyhow::Result<()> {
    let seeds = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(AT_ONCE);
    let mut first = 0;
    while first < seeds {
        play(first, AT_ONCE.min(seeds - first)).await?;
        first += AT_ONCE;
    }
    Ok(())
}
