//! A worker with everything that agents need, including sessions with stateful MCP servers.
//!
//! # Design
//! **The task queue of the private worker has a random name.** A queue that returned under its old
//! name after a crash would accept calls for sessions that it does not have. So a queue lives as
//! long as its process, and a call that times out while it waits in the queue proves that the
//! process is gone.

use temporal_agents_core::{tool::BoxError, wire::error_debug};
use temporalio_client::Client;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerRunError};

use super::{AgentsPlugin, InstallError};
use crate::client::check_run_attributes;

/// A worker that runs agents. It does what [`AgentsPlugin::install`] and a [`Worker`] do, and also
/// holds sessions with stateful MCP servers (`McpServer::stateful`). Each session is a connection
/// of this process, served by a second, private worker beside the main one, on a task queue that no
/// other process polls.
///
/// ```no_run
/// # use temporal_agents::{AgentsPlugin, worker::AgentsWorker};
/// # use temporalio_sdk::{Runtime, WorkerOptions};
/// # async fn example(
/// #     runtime: Runtime, client: temporalio_client::Client, plugin: AgentsPlugin,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let options = WorkerOptions::new("support").build();
/// let mut worker = AgentsWorker::new(&runtime, client, &plugin, options)?;
/// worker.run().await?;
/// # Ok(())
/// # }
/// ```
///
/// The private worker exists only if the plugin has MCP servers. It has the identity, the heartbeat
/// throttle intervals and the graceful shutdown period of the main worker, and none of its
/// interceptors. When the process ends, its sessions end with it; the `McpSessionOptions` of a run
/// define how the run handles that.
pub struct AgentsWorker {
    main: Worker,
    /// The client with which the search attributes of runs are checked, if they are wanted.
    checks_attributes: Option<Client>,
    #[cfg(feature = "mcp")]
    sessions: Option<Worker>,
}

/// The reason that an [`AgentsWorker`] could not be created.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AgentsWorkerError {
    /// The plugin does not fit its agents.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The SDK rejected the options, or the server is unavailable.
    #[error("the worker could not be created: {source}")]
    Worker {
        /// The error of the SDK.
        source: BoxError,
    },
}

error_debug!(enum AgentsWorkerError {
    Install(source),
    Worker { source },
});

impl AgentsWorker {
    /// Creates a worker with these options. The plugin must not be installed in them yet: this
    /// function installs it.
    ///
    /// # Errors
    /// [`AgentsWorkerError`].
    pub fn new(
        runtime: &Runtime,
        client: Client,
        plugin: &AgentsPlugin,
        mut options: WorkerOptions,
    ) -> Result<Self, AgentsWorkerError> {
        let checks_attributes = plugin.indexes_runs.then(|| client.clone());
        plugin.watch.set_client(client.clone());
        #[cfg(feature = "mcp")]
        if plugin.has_mcp_servers() {
            let (plugin, mut private) = plugin.with_sessions(private_queue(&options.task_queue));
            plugin.install(&mut options)?;
            private.client_identity_override.clone_from(&options.client_identity_override);
            private.graceful_shutdown_period = options.graceful_shutdown_period;
            private.max_heartbeat_throttle_interval = options.max_heartbeat_throttle_interval;
            private.default_heartbeat_throttle_interval = options.default_heartbeat_throttle_interval;
            let sessions = Some(worker(runtime, client.clone(), private)?);
            return Ok(Self { main: worker(runtime, client, options)?, checks_attributes, sessions });
        }
        plugin.install(&mut options)?;
        Ok(Self {
            main: worker(runtime, client, options)?,
            checks_attributes,
            #[cfg(feature = "mcp")]
            sessions: None,
        })
    }

    /// Returns a function that starts the shutdown; [`run`](Self::run) returns afterwards.
    pub fn shutdown_handle(&self) -> impl Fn() + use<> {
        let main = self.main.shutdown_handle();
        #[cfg(feature = "mcp")]
        let sessions = self.sessions.as_ref().map(Worker::shutdown_handle);
        move || {
            main();
            #[cfg(feature = "mcp")]
            if let Some(sessions) = &sessions {
                sessions();
            }
        }
    }

    /// Runs the worker until it is shut down or fails.
    ///
    /// # Errors
    /// As [`Worker::run`]. A worker that [indexes runs](AgentsPlugin::indexes_runs) does not begin
    /// in a namespace without their search attributes: the error has the command that creates them.
    pub async fn run(&mut self) -> Result<(), WorkerRunError> {
        if let Some(client) = &self.checks_attributes {
            check_run_attributes(client)
                .await
                .map_err(|error| WorkerRunError::Fatal { message: error.to_string(), source: error.into() })?;
        }
        #[cfg(feature = "mcp")]
        {
            let shut_down = self.shutdown_handle();
            if let Some(sessions) = &mut self.sessions {
                // Neither worker is of use without the other: when one ends, both are shut down.
                let main = async {
                    let ended = self.main.run().await;
                    shut_down();
                    ended
                };
                let sessions = async {
                    let ended = sessions.run().await;
                    shut_down();
                    ended
                };
                let (main, sessions) = futures::join!(main, sessions);
                return main.and(sessions);
            }
        }
        self.main.run().await
    }
}

/// Returns a task queue name that no other process uses: a worker that returned under the same name
/// would not have the sessions of the worker before it.
#[cfg(feature = "mcp")]
fn private_queue(task_queue: &str) -> String {
    format!("{task_queue}-sessions-{}", uuid::Uuid::new_v4().simple())
}

fn worker(runtime: &Runtime, client: Client, options: WorkerOptions) -> Result<Worker, AgentsWorkerError> {
    Worker::new(runtime, client, options).map_err(|error| AgentsWorkerError::Worker { source: error.into() })
}

impl std::fmt::Debug for AgentsWorker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentsWorker").finish_non_exhaustive()
    }
}
