//! Worker and API, in one process or in two.

use std::{net::Ipv4Addr, pin::pin};

use anyhow::Context;
use clap::Parser;
use temporal_agents::http::{AgentsService, BearerToken};
use temporal_agents_testing::{DevServer, DevServerOptions, ServerAddress};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_sdk::{Runtime, Worker, runtime::RuntimeOptions};
use tokio::{net::TcpListener, sync::oneshot};

use crate::agents::{browser, clerk, desk, worker};

/// Serves agents over HTTP: AG-UI, the AI SDK, and an API of runs.
///
/// Without --address it starts a Temporal dev server of its own. No key is needed: the models are
/// scripted. The API answers on 127.0.0.1 only.
#[derive(Debug, Parser)]
pub struct Options {
    /// Port of the API; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A Temporal server that runs, as HOST:PORT or as a URL; by default a dev server is started.
    #[arg(long, env = "TEMPORAL_ADDRESS")]
    address: Option<ServerAddress>,
    /// The namespace of the server.
    #[arg(long, env = "TEMPORAL_NAMESPACE", default_value = "default")]
    namespace: String,
    /// The task queue of worker and API.
    #[arg(long, env = "TEMPORAL_TASK_QUEUE", default_value = "agents")]
    task_queue: String,
    /// Starts only the worker.
    #[arg(long, conflicts_with = "api_only")]
    worker_only: bool,
    /// Starts only the API.
    #[arg(long)]
    api_only: bool,
    /// A token that callers must send: `Authorization: Bearer TOKEN`.
    #[arg(long, env = "AGENTS_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Serves until SIGTERM or Ctrl-C, and stops what it has started.
///
/// # Errors
/// The server cannot be reached or started, the port is taken, or the worker fails.
pub async fn serve(options: Options) -> anyhow::Result<()> {
    let terminated = termination()?;
    // Kept until the end: dropping it stops the server.
    let (server, address, namespace) = if let Some(address) = &options.address {
        (None, address.clone(), options.namespace.clone())
    } else {
        let server = DevServer::start_with(DevServerOptions::builder().ui(true).build()).await?;
        let address: ServerAddress = server.address().parse()?;
        let namespace = server.namespace().to_owned();
        (Some(server), address, namespace)
    };
    println!("TEMPORAL {address} {namespace}");
    let client = connect(&address, &namespace).await?;
    let ended = if options.api_only {
        api(&client, &options, terminated).await
    } else {
        with_worker(&client, &options, terminated).await
    };
    if let Some(server) = server {
        server.shutdown().await;
    }
    ended
}

async fn with_worker(
    client: &Client,
    options: &Options,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client.clone(), worker(&options.task_queue)?)?;
    let shut_down = worker.shutdown_handle();
    let mut running = pin!(worker.run());
    let outside = async {
        if options.worker_only {
            println!("READY");
            terminated.await;
            Ok(())
        } else {
            api(client, options, terminated).await
        }
    };
    let ended = tokio::select! {
        // In this order, so that the worker polls before the API answers.
        biased;
        ended = &mut running => return Ok(ended?),
        ended = outside => ended,
    };
    shut_down();
    running.await?;
    ended
}

/// Answers requests until `terminated`; then lets open ones end, but for streams.
async fn api(
    client: &Client,
    options: &Options,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let mut service = AgentsService::new(client, &*options.task_queue).agents((desk, clerk, browser));
    if let Some(token) = &options.token {
        service = service.access(BearerToken::new(token, "operator"));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await;
    let listener = listener.with_context(|| format!("port {} of 127.0.0.1 cannot be used", options.port))?;
    println!("READY http://{}", listener.local_addr()?);
    let (stopping, stopped) = oneshot::channel::<()>();
    let served = axum::serve(listener, service.into_router()).with_graceful_shutdown(async move {
        terminated.await;
        drop(stopping);
    });
    tokio::select! {
        ended = served => Ok(ended?),
        // Streams of events have no end of their own: their readers come back with a cursor.
        () = async { stopped.await.ok(); tokio::time::sleep(GRACE).await } => Ok(()),
    }
}

/// Time that open requests have at the end.
const GRACE: std::time::Duration = std::time::Duration::from_millis(500);

async fn connect(address: &ServerAddress, namespace: &str) -> anyhow::Result<Client> {
    let connection = Connection::connect(ConnectionOptions::new(address.url()).identity("serve").build()).await;
    let connection = connection.with_context(|| format!("no Temporal server at {address}"))?;
    Ok(Client::new(connection, ClientOptions::new(namespace).build())?)
}

/// Catches SIGTERM and Ctrl-C from this call on; the future ends with either.
#[cfg(unix)]
fn termination() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
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
fn termination() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupted = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupted.recv().await;
    })
}
