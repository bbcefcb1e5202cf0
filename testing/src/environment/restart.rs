//! Workers that end while workflows run, and workers that replace them.

use temporalio_client::{ClientOptions, NamespacedClient};

use super::{AgentEnvironment, EnvironmentError, worker::WorkerThread};

impl AgentEnvironment {
    /// Starts a worker with the environment's options, in place of one that was stopped or killed.
    ///
    /// The worker's identity, which the history contains, is `agent-worker-<n>`; the first worker
    /// of an environment has number 1.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] if the worker cannot start.
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

    /// Stops the worker as a deployment does: the worker finishes the tasks that it can, and
    /// returns the others to the server.
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] with the error of the worker.
    pub async fn stop_worker(&mut self) -> Result<(), EnvironmentError> {
        self.end_worker(WorkerThread::stop).await
    }

    /// Ends the worker as a crash does: the server detects it only by missing requests, such as
    /// heartbeats.
    ///
    /// The workflows of a worker with a workflow cache move to the next worker only after ten
    /// seconds, as in production; see
    /// [`without_workflow_cache`](super::AgentEnvironmentBuilder::without_workflow_cache).
    ///
    /// # Errors
    /// [`EnvironmentError::Worker`] with an error that ended the worker before this call.
    pub async fn kill_worker(&mut self) -> Result<(), EnvironmentError> {
        self.end_worker(WorkerThread::kill).await
    }

    async fn end_worker(
        &mut self,
        end: fn(&mut WorkerThread) -> Result<(), EnvironmentError>,
    ) -> Result<(), EnvironmentError> {
        let Some(mut worker) = self.worker.take() else { return Ok(()) };
        // On a blocking thread: the worker may wait for something that the test's runtime serves.
        let ended = tokio::task::spawn_blocking(move || end(&mut worker)).await;
        ended.unwrap_or_else(|error| Err(EnvironmentError::Worker(error.to_string())))
    }
}
