//! Both sides in one process, on a dev server of its own: a worker, and a reader that prints the
//! story while the model writes it.

use serde_json::json;
use temporal_agents::client::event_lines::RunPrinter;
use temporal_agents_testing::{DevServer, DevServerOptions, environment::WorkerThread};
use temporalio_client::{UntypedWorkflow, WorkflowGetResultOptions, WorkflowStartOptions};
use temporalio_common::data_converters::{PayloadConverter, RawValue};

use super::worker::{self, Deltas, Telling};
use crate::stage::server::keep_up;

const TASK_QUEUE: &str = "stories";
const WORKFLOW_ID: &str = "story-1";

/// Starts a server, a worker and a workflow, and prints the events of the workflow until it has
/// ended. With `keep`, the server and its web UI remain until Ctrl-C.
///
/// # Errors
/// The server cannot be started, or the workflow fails.
pub async fn demonstrate(keep: bool) -> anyhow::Result<()> {
    println!("Starting a Temporal dev server ...");
    let server = DevServer::start_with(DevServerOptions::builder().ui(keep).build()).await?;
    let outcome = tell(&server).await;
    keep_up(&server, keep).await?;
    server.shutdown().await;
    outcome
}

async fn tell(server: &DevServer) -> anyhow::Result<()> {
    let options = worker::options(TASK_QUEUE, &Telling { deltas: Deltas::Heartbeat, ..Telling::default() })?;
    let mut worker = WorkerThread::start(server.target_url(), server.namespace(), options)?;
    println!("A worker serves the task queue {TASK_QUEUE}; a reader watches the workflow {WORKFLOW_ID}.\n");

    // As a client in any language does: by the name of the type, with JSON.
    let client = server.client().await?;
    let input = json!({"agent": "narrator", "input": "Tell me a story."});
    let input = RawValue::from_value(&input, &PayloadConverter::default());
    let options = WorkflowStartOptions::new(TASK_QUEUE, WORKFLOW_ID).build();
    let story = client.start_workflow(UntypedWorkflow::new("AgentWorkflow"), input, options).await?;
    let mut printer = RunPrinter::new(&client, WORKFLOW_ID);
    printer.print_to_end().await?;
    println!("{}", printer.summary().unwrap_or_default());
    story.get_result(WorkflowGetResultOptions::default()).await?;
    // On a blocking thread: the operations that the worker waits for may run on this runtime.
    tokio::task::spawn_blocking(move || worker.stop()).await??;
    Ok(())
}
