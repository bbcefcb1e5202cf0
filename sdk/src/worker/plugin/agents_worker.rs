//! A worker with all that agents need of one, sessions with stateful MCP servers included.
//!
//! # Design
//! **The private worker's queue has a random name.** A queue that returned under its old name after
//! a crash would take calls of sessions it does not have. So a queue lives as long as its process,
//! and a call that waits there in vain proves that the process is gone.

use temporalio_client::Client;
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerRunError};

use super::{AgentsPlugin, InstallError};
use crate::wire::error_debug;

/// A worker that runs agents. It does what [`AgentsPlugin::install`] and a [`Worker`] do, and holds sessions with stateful MCP servers
/// (`McpServer::stateful`): each is a connection of this process, served by a second, private worker beside the main one, on a task queue that
/// no other process has.
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
/// The private worker exists where the plugin has MCP servers. It has the main one's identity, heartbeats and time to shut down, and none of its
/// interceptors. When the process ends, its sessions end with it; what the runs do then, their `McpSessionTerms` say.
pub struct AgentsWorker {
    main: Worker,
    #[cfg(feature = "mcp")]
    sessions: Option<Worker>,
}

/// Why a worker cannot run agents.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum AgentsWorkerError {
    /// The plugin does not fit its agents.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The SDK refuses the options, or the server is not there.
    #[error("the worker cannot be made: {source}")]
    Worker {
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

error_debug!(enum AgentsWorkerError {
    Install(source),
    Worker { source },
});

impl AgentsWorker {
    /// A worker with these options, in which the plugin is not installed yet.
    ///
    /// # Errors
    /// [`AgentsWorkerError`].
    pub fn new(
        runtime: &Runtime,
        client: Client,
        plugin: &AgentsPlugin,
        mut options: WorkerOptions,
    ) -> Result<Self, AgentsWorkerError> {
        #[cfg(feature = "mcp")]
        if plugin.has_mcp_servers() {
            let (plugin, mut private) = plugin.with_sessions(private_queue(&options.task_queue));
            plugin.install(&mut options)?;
            private.client_identity_override.clone_from(&options.client_identity_override);
            private.graceful_shutdown_period = options.graceful_shutdown_period;
            private.max_heartbeat_throttle_interval = options.max_heartbeat_throttle_interval;
            private.default_heartbeat_throttle_interval = options.default_heartbeat_throttle_interval;
            let sessions = Some(worker(runtime, client.clone(), private)?);
            return Ok(Self { main: worker(runtime, client, options)?, sessions });
        }
        plugin.install(&mut options)?;
        Ok(Self {
            main: worker(runtime, client, options)?,
            #[cfg(feature = "mcp")]
            sessions: None,
        })
    }

    /// What begins the shutdown; [`run`](Self::run) then ends.
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

    /// Runs until it is shut down, or cannot go on.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub async fn run(&mut self) -> Result<(), WorkerRunError> {
        #[cfg(feature = "mcp")]
        {
            let shut_down = self.shutdown_handle();
            if let Some(sessions) = &mut self.sessions {
                // One without the other is of no use.
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

/// A queue that no other process has: one that came back under the same name would not have the sessions of the one before.
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
