//! Worker processes that are killed with SIGKILL at points of a run: the union by id of the spans
//! that were sent live and of those from history is the whole tree. The calls of the worker that
//! takes over are all sent live.
//!
//! `SEEDS=20` kills at all 20 points; the default is 4 of them.

use std::{
    fs,
    future::pending,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, ModelActivityOptions, Runner, tool,
    trace::{Otlp, Tracing, export_workflow},
    wire::ModelCall,
};
use temporal_agents_examples::stage::process::{WorkerProcess, work_until_orphaned};
use temporal_agents_testing::{
    DevServer, FakeModel, ServerAddress,
    environment::WorkerThread,
    fake_model::{Reply, text, tool_call},
    skip_entry_point,
};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, WorkflowGetResultOptions, WorkflowStartOptions,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};
use tokio::time::{Instant, sleep};

use super::{
    collector::{Collector, Span, check_conventions, tree},
    traced::by_id,
};
use crate::PATIENCE;

const TASK: &str = "TEMPORAL_AGENTS_TEST_TRACED";
/// The moments of the run at which its worker can be killed: its calls, except for the last.
const MOMENTS: u32 = 10;
/// The number of runs at the same time.
const AT_ONCE: usize = 4;
/// For ever, as far as a test is concerned.
const FOR_EVER: Duration = Duration::from_mins(10);

/// The point of a run at which its worker process is killed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Point {
    moment: u32,
    /// `true` if the process blocks there until it is killed; otherwise the run continues meanwhile.
    holds: bool,
}

/// The task of a worker process.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    address: String,
    namespace: String,
    queue: String,
    collector: String,
    /// Absent in the process that takes over.
    point: Option<Point>,
    /// The process writes this file at its point.
    reached: PathBuf,
}

/// The point of this process.
static HERE: OnceLock<(Point, PathBuf)> = OnceLock::new();
static MOMENT: AtomicU32 = AtomicU32::new(0);

/// Counts a moment of the run; returns `true` if the process is to hold still.
fn moment() -> bool {
    let Some((point, reached)) = HERE.get() else { return false };
    if MOMENT.fetch_add(1, Ordering::Relaxed) != point.moment {
        return false;
    }
    fs::write(reached, "").expect("the directory is there");
    point.holds
}

/// Turns a page.
#[tool(start_to_close = "60s", heartbeat = "1s")]
async fn turn_page() -> String {
    if moment() {
        pending::<()>().await;
    }
    "turned".to_owned()
}

fn helper() -> Agent {
    Agent::new("helper").model("gpt-5").tool(turn_page)
}

fn lead() -> Agent {
    Agent::new("lead").model("gpt-5").tool(turn_page).tool(helper().as_tool().name("ask").description("Asks."))
}

fn answer(call: &ModelCall) -> Reply {
    if moment() {
        thread::sleep(FOR_EVER);
    }
    match (&*call.agent, call.turn) {
        ("lead", 2) => tool_call("ask", json!({"input": "Help."})),
        ("lead", 1 | 3 | 4) | ("helper", 1) => tool_call("turn_page", json!({})),
        _ => text("done"),
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Killed;

#[workflow_methods]
impl Killed {
    #[run(name = "killed")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        let options = ModelActivityOptions::builder().heartbeat(Duration::from_secs(1)).build();
        Ok(Runner::new(ctx).model_activity(options).run(&lead(), request).await?.final_output)
    }
}

#[test]
fn a_worker_works_only_where_a_test_has_started_it() -> anyhow::Result<()> {
    let Ok(task) = std::env::var(TASK) else {
        skip_entry_point();
        return Ok(());
    };
    work(serde_json::from_str(&task)?)
}

fn work(Task { address, namespace, queue, collector, point, reached }: Task) -> anyhow::Result<()> {
    if let Some(point) = point {
        HERE.set((point, reached)).expect("it is set once");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let address: ServerAddress = address.parse()?;
    let connection = ConnectionOptions::new(address.url().clone()).identity("traced").build();
    let tracing = runtime.block_on(async {
        let client = Client::new(Connection::connect(connection).await?, ClientOptions::new(&*namespace).build())?;
        anyhow::Ok(Tracing::new(&client, Otlp::new(&collector)?))
    })?;
    let mut options = WorkerOptions::new(queue).register_workflow::<Killed>()?.build();
    options.sticky_queue_schedule_to_start_timeout = Duration::from_secs(1);
    let plugin = AgentsPlugin::new(FakeModel::function(|call, _| answer(call))).agents((lead, helper));
    plugin.tracing(&tracing).install(&mut options)?;
    let worker = WorkerThread::start(address.url().to_string(), &namespace, options)?;
    work_until_orphaned(&worker)?;
    drop(worker);
    runtime.block_on(tracing.flush());
    Ok(())
}

async fn start_worker(task: &Task) -> anyhow::Result<WorkerProcess> {
    let test = "traces::kills::a_worker_works_only_where_a_test_has_started_it";
    let mut program = Command::new(std::env::current_exe()?);
    program.args([test, "--exact", "--nocapture"]).env(TASK, serde_json::to_string(task)?);
    tokio::task::spawn_blocking(move || WorkerProcess::start(&mut program)).await?
}

/// Kills the worker of a run at this point; another process takes over. Returns the number of spans
/// that were sent live, and of those that only history has.
async fn kill(server: &DevServer, client: &Client, directory: &Path, point: Point) -> anyhow::Result<[usize; 2]> {
    let (live, mut of_history) = (Collector::start().await?, Collector::start().await?);
    let id = format!("killed-{}-{}", point.moment, point.holds);
    let task = Task {
        address: server.address().to_owned(),
        namespace: server.namespace().to_owned(),
        queue: id.clone(),
        collector: live.url.clone(),
        point: Some(point),
        reached: directory.join(&id),
    };
    let first = start_worker(&task).await?;
    let options = WorkflowStartOptions::new(&*id, &*id).build();
    let started = client.start_workflow(Killed::run, "Go.".to_owned(), options).await?;
    let deadline = Instant::now() + PATIENCE;
    while !task.reached.exists() {
        anyhow::ensure!(Instant::now() < deadline, "the run does not come to {point:?}");
        sleep(Duration::from_millis(2)).await;
    }
    if !point.holds {
        // The kill comes in what follows: the completion of the activity, the next task, its spans.
        sleep(Duration::from_millis(u64::from(point.moment * 3))).await;
    }
    first.kill()?;
    let second = start_worker(&Task { point: None, ..task }).await?;
    started.get_result(WorkflowGetResultOptions::default()).await?;
    tokio::task::spawn_blocking(move || second.finish()).await??;
    let count = export_workflow(client, &id, &Otlp::new(&of_history.url)?).await?;
    let (live, history) = (live.end().await?, of_history.spans(count).await?);
    check(point, &live, &history);
    if point.holds {
        check_taken_over(point, &live, &history)?;
    }
    Ok([live.len(), history.iter().filter(|span| live.iter().all(|sent| sent.id != span.id)).count()])
}

fn check(point: Point, live: &[Span], history: &[Span]) {
    check_conventions(live);
    tree(history);
    let of_history = by_id(history);
    let mut union = history.to_vec();
    for span in live {
        let earlier = union.iter().find(|other| other.id == span.id);
        match (earlier, of_history.get(&*span.id)) {
            (None, _) => union.push(span.clone()),
            // History knows the times of the last attempt as the server saw them.
            (Some(_), Some(known)) => assert_eq!(&by_id(std::slice::from_ref(span))[&*span.id], known, "{point:?}"),
            (Some(earlier), None) => assert_eq!(earlier, span, "a span that comes twice is the same: {point:?}"),
        }
    }
    tree(&union);
    for extra in &union[history.len()..] {
        let is_attempt = matches!(extra.operation(), "chat" | "execute_tool");
        assert!(is_attempt, "history has all but earlier attempts, {point:?}: {extra:#?}");
    }
}

/// Checks that each call from the point on was sent live: the first worker blocked there, so that the
/// second one has made them, and it has sent its spans before it ended.
fn check_taken_over(point: Point, live: &[Span], history: &[Span]) -> anyhow::Result<()> {
    let is_call = |span: &&Span| span.operation() == "chat" || span.name == "execute_tool turn_page";
    let mut calls: Vec<&Span> = history.iter().filter(is_call).collect();
    calls.sort_by_key(|span| span.start);
    assert_eq!(calls.len(), usize::try_from(MOMENTS)? + 1, "{point:?}: {calls:#?}");
    for call in &calls[usize::try_from(point.moment)?..] {
        assert!(live.iter().any(|sent| sent.id == call.id), "{point:?}: it was not sent live: {call:#?}");
    }
    Ok(())
}

#[tokio::test]
async fn live_spans_and_those_of_history_are_the_whole_tree_wherever_a_worker_is_killed() -> anyhow::Result<()> {
    let count: u32 = std::env::var("SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(4);
    // The first points are spread over the run.
    let points = (0..count.min(2 * MOMENTS))
        .map(|n| Point { moment: n * 7 % MOMENTS, holds: (n / MOMENTS + n).is_multiple_of(2) });
    let server = DevServer::start().await?;
    let client = server.client().await?;
    let directory = tempfile::tempdir()?;
    let kills = stream::iter(points).map(|point| kill(&server, &client, directory.path(), point));
    let sent: Vec<[usize; 2]> = kills.buffer_unordered(AT_ONCE).try_collect().await?;
    let [live, missing] = [0, 1].map(|place| sent.iter().map(|of| of[place]).sum::<usize>());
    println!("{} kills: {live} spans came live, {missing} are in history alone", sent.len());
    Ok(())
}
