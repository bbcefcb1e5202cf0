//! The worker of the narrator: it serves until SIGTERM or Ctrl-C.

use std::pin::pin;

use anyhow::Context;
use temporal_agents::{
    AgentsPlugin,
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow},
};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, Url};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};

use super::{model, narrator};

/// The line that the worker prints once it polls.
pub const READY: &str = "READY";

/// Serves `AgentWorkflow` and `ChatWorkflow` for the narrator until the process is terminated.
///
/// # Errors
/// The address is invalid, the server cannot be reached, or the worker fails.
pub async fn serve(address: &str, namespace: &str, task_queue: &str) -> anyhow::Result<()> {
    let url = url_of(address)?;
    let connection = Connection::connect(ConnectionOptions::new(url).identity("narrator").build()).await;
    let connection = connection.with_context(|| format!("no Temporal server at {address}"))?;
    let client = Client::new(connection, ClientOptions::new(namespace).build())?;
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

/// Returns the address as a URL. The form `HOST:PORT` is that of the `temporal` command.
fn url_of(address: &str) -> anyhow::Result<Url> {
    let url = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    url.parse().with_context(|| format!("{address:?} is neither HOST:PORT nor a URL"))
}

fn options(task_queue: &str) -> anyhow::Result<WorkerOptions> {
    let agents = || AgentSet::new((narrator,));
    let mut options = WorkerOptions::new(task_queue)
        .register_workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(agents()))?
        .build();
    options.register_workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(agents()))?;
    AgentsPlugin::new().model_provider(model::scripted()).agent(narrator).install(&mut options)?;
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
