//! The worker of the narrator: it serves until SIGTERM or Ctrl-C.

use std::pin::pin;

use temporal_agents::{
    AgentsPlugin,
    worker::{HeartbeatDeltas, WorkflowStreamDeltas},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::ServerAddress;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};

use super::{model, narrator};
use crate::stage::server::connect;

/// The line that the worker prints once it polls.
pub const READY: &str = "READY";

/// The transport of the narrator's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Deltas {
    /// None: the model does not stream, and readers see facts only.
    #[default]
    Off,
    /// Heartbeats of the model activity.
    Heartbeat,
    /// The stream of the workflow, for subscribers in any language.
    WorkflowStream,
}

/// The way in which the narrator tells its story.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Telling {
    /// Transport of the tokens.
    #[arg(long, value_enum, default_value_t)]
    pub(super) deltas: Deltas,
    /// Topic of the tokens in the stream of the workflow; by default `run_events`.
    #[arg(long)]
    pub(super) topic: Option<String>,
    /// Topic of the stream with the events of OpenAI's Responses API.
    #[arg(long)]
    pub(super) openai_topic: Option<String>,
    /// Breaks the first attempt at each streamed model call after this number of parts.
    #[arg(long)]
    pub(super) break_after: Option<usize>,
}

impl Telling {
    fn stream_deltas(&self) -> WorkflowStreamDeltas {
        let mut deltas = WorkflowStreamDeltas::new();
        if let Some(topic) = &self.topic {
            deltas = deltas.topic(topic);
        }
        if let Some(topic) = &self.openai_topic {
            deltas = deltas.openai_topic(topic);
        }
        deltas
    }
}

/// Serves `AgentWorkflow` and `ChatWorkflow` for the narrator until the process is terminated.
///
/// # Errors
/// The address is invalid, the server cannot be reached, or the worker fails.
pub async fn serve(
    address: &ServerAddress,
    namespace: &str,
    task_queue: &str,
    telling: &Telling,
) -> anyhow::Result<()> {
    let client = connect(address, namespace, "narrator").await?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client, options(task_queue, telling)?)?;
    let shut_down = worker.shutdown_handle();
    // Caught before the line is printed: whoever reads it may send the signal at once.
    let terminated = termination()?;
    let mut running = pin!(worker.run());
    tokio::select! {
        // In this order, so that the worker polls before the line is printed.
        biased;
        ended = &mut running => return Ok(ended?),
        () = async { println!("{READY}"); terminated.await } => shut_down(),
    }
    Ok(running.await?)
}

pub(super) fn options(task_queue: &str, telling: &Telling) -> anyhow::Result<WorkerOptions> {
    let agents = || AgentSet::new((narrator,));
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    let plugin = AgentsPlugin::new(model::scripted(telling.break_after)).agent(narrator);
    let plugin = match telling.deltas {
        Deltas::Off => plugin,
        Deltas::Heartbeat => plugin.deltas(HeartbeatDeltas::new()),
        Deltas::WorkflowStream => plugin.deltas(telling.stream_deltas()),
    };
    plugin.install(&mut options)?;
    Ok(options)
}

/// Catches SIGTERM from this call on; the future ends with SIGTERM or Ctrl-C.
#[cfg(unix)]
fn termination() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}

/// Catches Ctrl-C from this call on; the future ends with it.
#[cfg(windows)]
fn termination() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupted = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupted.recv().await;
    })
}
