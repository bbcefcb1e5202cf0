//! A real Temporal dev server as a child process of the test.
//!
//! [`DevServer::start`] finds the `temporal` CLI (no manual installation is necessary), starts it
//! on a free port with an in-memory database, and returns once it serves the namespace. Dropping
//! the value stops the server.
//!
//! Guarantees:
//! - Servers of parallel tests and parallel test processes are isolated: each has its own ports,
//!   directory and database. The environments of one process share a server, each in a namespace of
//!   its own.
//! - A returned server is the one that was started, not another that took its port in the meantime.
//! - A server that does not start is an error with the end of its log, never a hang.
//! - The server is stopped with the value, by its own process id; on Unix also if the test process
//!   is killed.
//!
//! Deliberately out of scope: skipping time (the dev server does not support it), keeping data
//! between runs, TLS, and the download built into the SDK, which is not pinned to a checksum.

mod cached_cli;
mod error;
mod locate;
mod nexus;
mod options;
mod ports;
mod process;
mod ready;
mod shared;
mod wheel;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use temporalio_client::{Client, ClientOptions, Connection};

pub use self::error::DevServerError;
pub use self::locate::LocateError;
pub use self::options::{DevServerOptions, ServerLogLevel};

use self::{ports::Ports, process::ServerProcess};

/// Maximum number of attempts to start a server when another process takes a port between choosing
/// and using it.
const PORT_ATTEMPTS: u32 = 5;

/// A running Temporal dev server, which is stopped when the value is dropped. Environments may
/// share a server; it is stopped with the last [`AgentEnvironment`](crate::AgentEnvironment) that
/// uses it.
///
/// ```no_run
/// # async fn example() -> Result<(), temporal_agents_testing::DevServerError> {
/// use temporal_agents_testing::DevServer;
///
/// let server = DevServer::start().await?;
/// let client = server.client().await?;
/// // start a worker and workflows with the client
/// server.shutdown().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DevServer {
    running: Arc<RunningServer>,
    namespace: String,
}

#[derive(Debug)]
struct RunningServer {
    process: ServerProcess,
    ports: Ports,
    address: String,
}

impl DevServer {
    /// Starts a server with the default options.
    pub async fn start() -> Result<Self, DevServerError> {
        Self::start_with(DevServerOptions::default()).await
    }

    /// Starts a server and waits, at most 30 seconds, until it serves the namespace.
    ///
    /// The first start on a machine without the CLI fetches it, about 45 MB.
    pub async fn start_with(options: DevServerOptions) -> Result<Self, DevServerError> {
        Ok(Self { running: Arc::new(RunningServer::start(&options).await?), namespace: options.namespace })
    }

    /// Returns a server that other environments of this process also use, with a namespace of its
    /// own. The server runs no schedules, batch operations or worker deployments.
    pub(crate) async fn shared() -> Result<Self, DevServerError> {
        shared::SHARED.server().await
    }

    /// Returns the gRPC address as `HOST:PORT`, the form of `temporal --address` and
    /// `TEMPORAL_ADDRESS`.
    pub fn address(&self) -> &str {
        &self.running.address
    }

    /// Returns the gRPC address as a URL, the form that a client's connection options take.
    pub fn target_url(&self) -> String {
        format!("http://{}", self.running.address)
    }

    /// Returns the address of the web UI, if the options enable it.
    pub fn ui_url(&self) -> Option<String> {
        self.running.ports.ui_address().map(|address| format!("http://{address}"))
    }

    /// Returns the namespace that tests use, which exists on the server.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns the process id of the server, which other environments may use as well.
    pub fn pid(&self) -> u32 {
        self.running.process.pid()
    }

    /// Returns the path of the `temporal` binary that runs the server, for tests that call the CLI.
    pub fn cli(&self) -> &Path {
        self.running.process.cli()
    }

    /// Connects a new client, bound to [`namespace`](Self::namespace), with the default data
    /// converter.
    pub async fn client(&self) -> Result<Client, DevServerError> {
        self.client_with(ClientOptions::new(self.namespace()).build()).await
    }

    /// Connects a new client with custom options: namespace, data converter, interceptors.
    pub async fn client_with(&self, options: ClientOptions) -> Result<Client, DevServerError> {
        let connection = Connection::connect(ready::connection_options(&self.running.address).build())
            .await
            .map_err(|source| DevServerError::connect(&self.running.address, source))?;
        Client::new(connection, options).map_err(|source| DevServerError::connect(&self.running.address, source))
    }

    /// Stops the server and waits until its process has ended, without blocking the async runtime
    /// as a drop would.
    pub async fn shutdown(self) {
        // An error means that the blocking pool is shutting down; it drops the server in that case.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

impl RunningServer {
    async fn start(options: &DevServerOptions) -> Result<Self, DevServerError> {
        let cli = find_cli().await?;
        let mut attempt = 1;
        loop {
            match Self::launch(&cli, options).await {
                Err(error) if error.is_worth_a_retry() && options.port.is_none() && attempt < PORT_ATTEMPTS => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn launch(cli: &Path, options: &DevServerOptions) -> Result<Self, DevServerError> {
        let ports = Ports::choose(options).map_err(DevServerError::Port)?;
        let birthmark = process::birthmark();
        let process = ServerProcess::spawn(cli, &options.arguments(&ports, &birthmark))?;
        let address = ports.grpc_address();
        ready::wait(&process, &address, [&options.namespace, &birthmark]).await?;
        Ok(Self { process, ports, address })
    }
}

async fn find_cli() -> Result<PathBuf, LocateError> {
    tokio::task::spawn_blocking(locate::temporal_cli).await.expect("the search for the CLI does not panic")
}

#[cfg(test)]
mod tests;
