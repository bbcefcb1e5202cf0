//! The worker: with the SDK's defaults, until SIGTERM; without compression by default, since the
//! connection is over loopback.

use std::{pin::pin, sync::Arc};

use temporal_agents::{
    AgentsPlugin,
    metrics::Metrics,
    trace::{Otlp, Tracing},
};
use temporal_agents_testing::ServerAddress;
use temporal_agents_tests::bench::worker::{self, Settings};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, GrpcCompression};
use temporalio_common::telemetry::metrics::NoOpCoreMeter;
use temporalio_sdk::{Runtime, Worker, runtime::RuntimeOptions};
use tokio::signal::unix::{SignalKind, signal};

/// The line that the worker prints once it polls.
pub(crate) const READY: &str = "READY";

pub(crate) async fn serve(
    address: &ServerAddress,
    task_queue: &str,
    compression: GrpcCompression,
    settings: Settings,
    collector: Option<&str>,
) -> anyhow::Result<()> {
    let options = ConnectionOptions::new(address.url()).grpc_compression(compression).build();
    let connection = Connection::connect(options).await?;
    let client = Client::new(connection, ClientOptions::new("default").build())?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let traces = collector.map(|url| anyhow::Ok(Tracing::new(&client, Otlp::new(url)?))).transpose()?;
    let observed = |plugin: AgentsPlugin| match &traces {
        Some(traces) => plugin.tracing(traces).metrics(&Metrics::new(Arc::new(NoOpCoreMeter))),
        None => plugin,
    };
    let mut worker = Worker::new(&runtime, client, worker::options(task_queue, settings, observed)?)?;
    let shut_down = worker.shutdown_handle();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut running = pin!(worker.run());
    tokio::select! {
        // In this order, so that the worker polls before it prints that it is ready.
        biased;
        ended = &mut running => return Ok(ended?),
        _ = async { println!("{READY}"); terminate.recv().await } => shut_down(),
    }
    let ended = running.await;
    if let Some(traces) = traces {
        traces.flush().await;
        eprintln!("spans that were lost: {}", traces.lost());
    }
    Ok(ended?)
}
