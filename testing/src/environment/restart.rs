//! Workers that end while workflows run, and others that take over.

use temporalio_client::{ClientOptions, NamespacedClient};

use super::{AgentEnvironment, EnvironmentError, worker::WorkerThread};

impl AgentEnvironment {
    /// Starts a worker with the environment's options, in place of one that was stopped or killed.
    ///
    /// Its identity, which history shows, is `agent-worker-<n>`; the first worker of an environment is number 1.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] when it cannot start.
    pub fn start_worker(&mut self) -> Result<(), EnvironmentError> {
        self.workers += 1;
        let mut options = self.worker_options.clone();
        options.client_identity_override.get_or_insert_with(|| format!("agent-worker-{}", self.workers));
        let client = ClientOptions::new(self.server.namespace());
        let client = client.data_converter(self.client.data_converter().clone()).build();
        let target = self.server.target_url();
        self.worker = Some(match &self.plugin {
            None => WorkerThread::start_with(target, client, options)?,
            Some(plugin) => WorkerThread::start_agents(target, client, plugin.clone(), options)?,
        });
        Ok(())
    }

    /// Stops the worker as a deploy does: it finishes what it can, and gives the rest back to the server.
    ///
    /// # Errors
    /// What went wrong in it.
    pub async fn stop_worker(&mut self) -> Result<(), EnvironmentError> {
        self.end_worker(WorkerThread::stop).await
    }

    /// Ends the worker as a crash does: the server learns of it by what does not come any more, such as heartbeats.
    ///
    /// A worker with a workflow cache leaves its workflows to the next one only after ten seconds, as in production;
    /// see [`without_workflow_cache`](super::AgentEnvironmentBuilder::without_workflow_cache).
    ///
    /// # Errors
    /// What had gone wrong in it before.
    pub async fn kill_worker(&mut self) -> Result<(), EnvironmentError> {
        self.end_worker(WorkerThread::kill).await
    }

    async fn end_worker(
        &mut self,
        end: fn(&mut WorkerThread) -> Result<(), EnvironmentError>,
    ) -> Result<(), EnvironmentError> {
        let Some(mut worker) = self.worker.take() else { return Ok(()) };
        // Off the test's runtime: what the worker waits for may be served there.
        let ended = tokio::task::spawn_blocking(move || end(&mut worker)).await;
        ended.unwrap_or_else(|error| Err(EnvironmentError::Worker(error.to_string())))
    }
}
