//! The worker of the narrator: it serves until SIGTERM or Ctrl-C.

use std::pin::pin;

use temporal_agents::{
    AgentsPlugin,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporal_agents_testing::ServerAddress;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};

use super::{model, narrator};
use crate::stage::server::connect;

/// The line that the worker prints once it polls.
pub const READY: &str = "READY";

/// Serves `AgentWorkflow` and `ChatWorkflow` for the narrator until the process is terminated.
///
/// # Errors
/// The address is invalid, the server cannot be reached, or the worker fails.
pub async fn serve(address: &ServerAddress, namespace: &str, task_queue: &str) -> anyhow::Result<()> {
    let client = connect(address, namespace, "narrator").await?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client, options(task_queue)?)?;
    let shut_down = worker.shutdown_handle();
    let mut running = pin!(worker.run());
    tokio::select! {
        // In this order, so that the worker polls before the line is printed.
        biased;
        ended = &mut running => return Ok(ended?),
        ended = async { println!("{READY}"); until_terminated().await } => {
            ended?;
            shut_down();
        }
    }
    Ok(running.await?)
}

fn options(task_queue: &str) -> anyhow::Result<WorkerOptions> {
    let agents = || AgentSet::new((narrator,));
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    AgentsPlugin::new(model::scripted()).agent(narrator).install(&mut options)?;
    Ok(options)
}

/// Waits for SIGTERM or Ctrl-C.
#[cfg(unix)]
async fn until_terminated() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminated = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminated.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}

/// Waits for Ctrl-C.
#[cfg(not(unix))]
async fn until_terminated() -> std::io::Result<()> {
    tokio::signal::ctrl_c().await
}
