//! Worker and API, in one process or in two.

use std::{net::Ipv4Addr, pin::pin};

use anyhow::Context;
use clap::Parser;
use temporal_agents::{
    client::AgentRuns,
    http::{AgentsService, BearerToken},
    projection::Projector,
    remote::transport::RedisTransport,
    store::SqlStore,
    wire::RunMode,
    worker::BrokerDeltas,
};
use temporal_agents_testing::{DevServer, DevServerOptions, ServerAddress};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions,
    envconfig::{ClientConfigProfile, ConfigError, LoadClientConfigProfileOptions},
};
use temporalio_common::envconfig::load_client_config_profile;
use temporalio_sdk::{Runtime, Worker, runtime::RuntimeOptions};
use tokio::{net::TcpListener, sync::oneshot};

use crate::agents::{set, tasks, worker};

/// Serves agents over HTTP: AG-UI, the AI SDK, and an API of runs.
///
/// Without --address it starts a Temporal dev server of its own; with --mode inprocess it needs no
/// Temporal. No key is needed: the models are scripted. The API answers on 127.0.0.1 only.
#[derive(Debug, Parser)]
pub struct Options {
    /// Port of the API; 0 takes a free one.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// A Temporal server that runs, as HOST:PORT or as a URL. Without it, the server of the
    /// environment (TEMPORAL_ADDRESS, or the address in Temporal's configuration file); if there is
    /// none, a dev server is started.
    #[arg(long)]
    address: Option<ServerAddress>,
    /// The namespace of the server; by default that of the environment (TEMPORAL_NAMESPACE, or in
    /// Temporal's configuration file), or else "default".
    #[arg(long)]
    namespace: Option<String>,
    /// The mode of runs that choose none: "temporal", as workflows, or "inprocess", as tasks of
    /// this process.
    #[arg(long, env = "AGENT_RUNNER_MODE", default_value = "temporal")]
    mode: RunMode,
    /// The task queue of worker and API.
    #[arg(long, env = "TEMPORAL_TASK_QUEUE", default_value = "agents")]
    task_queue: String,
    /// Starts only the worker.
    #[arg(long, conflicts_with = "api_only")]
    worker_only: bool,
    /// Starts only the API.
    #[arg(long)]
    api_only: bool,
    /// Starts only the projector, which writes the runs to the database.
    #[arg(long, conflicts_with_all = ["worker_only", "api_only"], requires = "database")]
    projector_only: bool,
    /// The database of runs: postgres://USER:PASSWORD@HOST:PORT/NAME, or sqlite:PATH. The API's
    /// process writes them, and reads those that the server has deleted; with it, a request may
    /// choose the mode "inprocess". Without it, in that mode, runs are in a temporary file.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database: Option<String>,
    /// The Redis server over which tokens reach the APIs that stream them, as in
    /// redis://127.0.0.1:6379; for worker and API the same. Without it, heartbeats carry them, and in
    /// the mode "inprocess" only the process that runs a run streams them.
    #[arg(long, env = "REDIS_URL", hide_env_values = true)]
    redis: Option<String>,
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
    if options.mode == RunMode::InProcess {
        return in_process(&options, terminated).await;
    }
    let (server, client) = connect(&options).await?;
    let store = match &options.database {
        Some(url) => Some(SqlStore::connect(url).await?),
        None => None,
    };
    let (stopping, stopped) = oneshot::channel::<()>();
    let projector = store.as_ref().filter(|_| !options.worker_only).map(|store| {
        let projector = Projector::new(&client, store, &*options.task_queue);
        tokio::spawn(projector.run(async { drop(stopped.await) }))
    });
    let ended = if options.projector_only {
        println!("READY");
        terminated.await;
        Ok(())
    } else if options.api_only {
        api(&client, store.as_ref(), &options, terminated).await
    } else {
        with_worker(&client, store.as_ref(), &options, terminated).await
    };
    drop(stopping);
    if let Some(projector) = projector {
        projector.await?;
    }
    if let Some(server) = server {
        server.shutdown().await;
    }
    ended
}

/// Serves runs that are tasks of this process, without Temporal.
async fn in_process(options: &Options, terminated: impl Future<Output = ()> + Send + 'static) -> anyhow::Result<()> {
    anyhow::ensure!(
        !options.worker_only && !options.api_only && !options.projector_only,
        "in the mode \"inprocess\" the process of the API runs the agents and writes the rows: leave --worker-only, \
         --api-only and --projector-only out"
    );
    let directory = tempfile::tempdir()?;
    let url = options.database.clone();
    let url = url.unwrap_or_else(|| format!("sqlite:{}", directory.path().join("agents.db").display()));
    let store = SqlStore::connect(&url).await?;
    let tasks = tasks(&store, deltas(options)?);
    let ended =
        listen(AgentsService::with_runs(AgentRuns::in_process(&tasks)).agents(&set(Some(&store))), options, terminated)
            .await;
    tasks.shutdown(TASK_GRACE).await;
    ended
}

async fn with_worker(
    client: &Client,
    store: Option<&SqlStore>,
    options: &Options,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default())?;
    let mut worker = Worker::new(&runtime, client.clone(), worker(&options.task_queue, store, deltas(options)?)?)?;
    let shut_down = worker.shutdown_handle();
    let mut running = pin!(worker.run());
    let outside = async {
        if options.worker_only {
            println!("READY");
            terminated.await;
            Ok(())
        } else {
            api(client, store, options, terminated).await
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

/// Serves runs that are workflows, and with a database those that are tasks of this process.
async fn api(
    client: &Client,
    store: Option<&SqlStore>,
    options: &Options,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let runs = AgentRuns::new(client, &*options.task_queue);
    let streaming = |service: AgentsService| {
        anyhow::Ok(match deltas(options)? {
            Some(deltas) => service.deltas(deltas),
            None => service,
        })
    };
    let Some(store) = store else {
        return listen(streaming(AgentsService::with_runs(runs).agents(&set(None)))?, options, terminated).await;
    };
    let tasks = tasks(store, deltas(options)?);
    let service = AgentsService::with_runs(runs.with_in_process(&tasks)).agents(&set(Some(store))).run_store(store);
    let ended = listen(streaming(service)?, options, terminated).await;
    tasks.shutdown(TASK_GRACE).await;
    ended
}

/// Returns the transport of tokens over Redis, if there is a Redis server.
fn deltas(options: &Options) -> anyhow::Result<Option<BrokerDeltas>> {
    let Some(url) = &options.redis else { return Ok(None) };
    let transport = RedisTransport::new(url).context("the address of the Redis server is invalid")?;
    Ok(Some(BrokerDeltas::new(transport)))
}

/// Answers requests until `terminated`; then ends streams, and lets other requests end.
async fn listen(
    mut service: AgentsService,
    options: &Options,
    terminated: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    if let Some(token) = &options.token {
        service = service.access(BearerToken::new(token, "operator"));
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await;
    let listener = listener.with_context(|| format!("port {} of 127.0.0.1 cannot be used", options.port))?;
    println!("READY http://{}", listener.local_addr()?);
    Ok(service.serve(listener, terminated).await?)
}

/// Time that runs in this process have at the end.
const TASK_GRACE: std::time::Duration = std::time::Duration::from_secs(5);

/// Connects to the server of the flags or of the environment, or else to a new dev server, which
/// stops when it is dropped.
async fn connect(options: &Options) -> anyhow::Result<(Option<DevServer>, Client)> {
    let profile = load_client_config_profile(LoadClientConfigProfileOptions::default(), None);
    let mut profile = profile.map_err(refused)?;
    if let Some(address) = &options.address {
        profile.address = Some(address.to_string());
    }
    if let Some(namespace) = &options.namespace {
        profile.namespace = Some(namespace.clone());
    }
    let mut server = None;
    if profile.address.is_none() {
        let started = DevServer::start_with(DevServerOptions::builder().ui(true).build()).await?;
        // Keys and certificates of the environment are for other servers.
        profile = ClientConfigProfile::default();
        profile.address = Some(started.address().to_owned());
        profile.namespace = Some(started.namespace().to_owned());
        server = Some(started);
    }
    let address = profile.address.clone().unwrap_or_default();
    let namespace = profile.namespace.clone().unwrap_or_else(|| "default".to_owned());
    let mut connection = ConnectionOptions::try_from(profile).map_err(refused)?;
    "serve".clone_into(&mut connection.identity);
    let connection = Connection::connect(connection).await;
    let connection = connection.with_context(|| format!("no Temporal server at {address}"))?;
    println!("TEMPORAL {address} {namespace}");
    Ok((server, Client::new(connection, ClientOptions::new(namespace).build())?))
}

/// An error of the settings; it is not `Send`, so its text is kept.
fn refused(error: ConfigError) -> anyhow::Error {
    anyhow::anyhow!("Temporal's environment variables or its configuration file are refused: {error}")
}

/// Catches SIGTERM and Ctrl-C from this call on; the future ends with either.
#[cfg(unix)]
pub(crate) fn termination() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
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
pub(crate) fn termination() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut interrupted = tokio::signal::windows::ctrl_c()?;
    Ok(async move {
        interrupted.recv().await;
    })
}
