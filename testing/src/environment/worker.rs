//! A worker on a separate thread: its future is not `Send`, and workflow code that blocks must not
//! block the test.

use std::{
    sync::mpsc::{Sender, channel},
    thread::JoinHandle,
};

use temporal_agents::{AgentsPlugin, worker::AgentsWorker};
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerRunError, runtime::RuntimeOptions};
use tokio::sync::oneshot;

use super::EnvironmentError;
use crate::ServerAddress;

/// A running worker; dropping it stops the worker and waits for its end.
pub struct WorkerThread {
    end: Option<oneshot::Sender<End>>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

/// The way in which a worker ends.
enum End {
    Stop,
    Kill,
}

impl WorkerThread {
    /// Starts a worker with these options against the server at `target` (`HOST:PORT` or a URL).
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] if the worker cannot connect or its options are invalid.
    pub fn start(target: String, namespace: &str, options: WorkerOptions) -> Result<Self, EnvironmentError> {
        Self::start_with(target, ClientOptions::new(namespace).build(), options)
    }

    /// Starts a worker with its own client options: namespace, data converter, interceptors.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] if the worker cannot connect or its options are invalid.
    pub fn start_with(target: String, client: ClientOptions, options: WorkerOptions) -> Result<Self, EnvironmentError> {
        Self::start_any(target, client, None, options)
    }

    /// Starts an `AgentsWorker` with this plugin, which must not be installed in the options yet.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] if the worker cannot connect or its options are invalid.
    pub fn start_agents(
        target: String,
        client: ClientOptions,
        plugin: AgentsPlugin,
        options: WorkerOptions,
    ) -> Result<Self, EnvironmentError> {
        Self::start_any(target, client, Some(plugin), options)
    }

    fn start_any(
        target: String,
        client: ClientOptions,
        plugin: Option<AgentsPlugin>,
        options: WorkerOptions,
    ) -> Result<Self, EnvironmentError> {
        let (started, on_start) = channel();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("agent-worker".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
                let runtime = runtime.map_err(|error| error.to_string())?;
                let result = runtime.block_on(run(&target, client, plugin, options, started, ended));
                // A stopped worker has already finished its tasks; those of a killed worker are
                // abandoned.
                runtime.shutdown_background();
                result
            })
            .map_err(|error| EnvironmentError::Worker(error.to_string()))?;
        match on_start.recv() {
            Ok(()) => Ok(Self { end: Some(end), thread: Some(thread) }),
            // The thread ended before it reported that the worker runs: its result contains the
            // reason.
            Err(_) => Err(EnvironmentError::Worker(match thread.join() {
                Ok(Err(message)) => message,
                _ => "it panicked during start-up".to_owned(),
            })),
        }
    }

    /// Stops the worker and waits for its end.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] with the error of the worker.
    pub fn stop(&mut self) -> Result<(), EnvironmentError> {
        self.end(End::Stop)
    }

    /// Ends the worker as a crash does: the worker reports nothing to the server, and abandons its
    /// tasks.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] with an error that ended the worker before this call.
    pub fn kill(&mut self) -> Result<(), EnvironmentError> {
        self.end(End::Kill)
    }

    fn end(&mut self, how: End) -> Result<(), EnvironmentError> {
        if let Some(end) = self.end.take() {
            // The receiver is dropped if the worker has ended by itself; its result contains the
            // reason.
            let _ = end.send(how);
        }
        match self.thread.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(message))) => Err(EnvironmentError::Worker(message)),
            Some(Err(_)) => Err(EnvironmentError::Worker("it panicked".to_owned())),
        }
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        // A late error of the worker cannot be reported from a drop; `stop` reports it.
        let _ = self.stop();
    }
}

impl std::fmt::Debug for WorkerThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WorkerThread")
    }
}

/// Runs the worker until `ended` resolves. The shutdown begins on the worker's own runtime: it
/// spawns a task there that ends the polls, and the runtime of the test may be blocked by then.
async fn run(
    target: &str,
    client: ClientOptions,
    plugin: Option<AgentsPlugin>,
    options: WorkerOptions,
    started: Sender<()>,
    ended: oneshot::Receiver<End>,
) -> Result<(), String> {
    let (runtime, client) = connect(target, client).await?;
    match plugin {
        None => {
            let worker = Worker::new(&runtime, client, options);
            let mut worker = worker.map_err(|error| error.to_string())?;
            run_until_stopped(worker.shutdown_handle(), worker.run(), started, ended).await
        }
        Some(plugin) => {
            let worker = AgentsWorker::new(&runtime, client, &plugin, options);
            let mut worker = worker.map_err(|error| error.to_string())?;
            run_until_stopped(worker.shutdown_handle(), worker.run(), started, ended).await
        }
    }
}

async fn run_until_stopped(
    shut_down: impl Fn(),
    running: impl Future<Output = Result<(), WorkerRunError>>,
    started: Sender<()>,
    ended: oneshot::Receiver<End>,
) -> Result<(), String> {
    // The receiver is dropped only if the test no longer waits for the worker.
    let _ = started.send(());
    tokio::pin!(running);
    let result = tokio::select! {
        result = &mut running => result,
        end = ended => match end {
            Ok(End::Kill) => Ok(()),
            // A dropped sender also requests a stop.
            Ok(End::Stop) | Err(_) => {
                shut_down();
                running.await
            }
        },
    };
    result.map_err(|error| error.to_string())
}

async fn connect(target: &str, client: ClientOptions) -> Result<(Runtime, Client), String> {
    let url = target.parse::<ServerAddress>().map_err(|error| error.to_string())?.url();
    let connection = Connection::connect(ConnectionOptions::new(url).identity("agent-worker").build()).await;
    let connection = connection.map_err(|error| error.to_string())?;
    let client = Client::new(connection, client).map_err(|error| error.to_string())?;
    let runtime = Runtime::from_current_tokio(RuntimeOptions::default());
    Ok((runtime.map_err(|error| error.to_string())?, client))
}
