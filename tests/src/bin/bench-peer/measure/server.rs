//! A dev server, and runs on it.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use temporal_agents_testing::{DevServer, DevServerOptions};
use temporal_agents_tests::bench::Spec;
use temporalio_client::{Client, WorkflowGetResultOptions, WorkflowHandle, WorkflowStartOptions};
use tokio::time::timeout;

use super::column::Column;
use crate::clock::cpu_ms_of;

/// A run that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(5);

/// A fresh server with a client.
pub(super) struct Server {
    process: DevServer,
    pub(super) client: Client,
    started: AtomicU32,
}

/// A run that has ended with the expected output.
pub(super) struct Ended {
    pub(super) took: Duration,
    pub(super) handle: WorkflowHandle<Client, Column>,
}

impl Server {
    /// Starts a server whose own limits on reading its queues are lifted: at the defaults the
    /// measurement would show these limits, and not the worker.
    pub(super) async fn start() -> anyhow::Result<Self> {
        let options = DevServerOptions::builder().lift_poll_limits(true).build();
        let server = DevServer::start_with(options).await?;
        let client = server.client().await?;
        Ok(Self { process: server, client, started: AtomicU32::new(0) })
    }

    pub(super) fn address(&self) -> &str {
        self.process.address()
    }

    /// Returns the CPU time that the server has used, in milliseconds.
    pub(super) fn cpu_ms(&self) -> anyhow::Result<f64> {
        cpu_ms_of(self.process.pid())
    }

    /// Returns another connection to the server.
    pub(super) async fn connect(&self) -> anyhow::Result<Client> {
        Ok(self.process.client().await?)
    }

    /// Returns a number for the id of a workflow, each once.
    pub(super) fn next_number(&self) -> u32 {
        self.started.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts a workflow.
    pub(super) async fn begin(
        &self,
        column: Column,
        task_queue: &str,
        spec: Spec,
    ) -> anyhow::Result<WorkflowHandle<Client, Column>> {
        let id = format!("bench-{}", self.next_number());
        let options = WorkflowStartOptions::new(task_queue, &*id).build();
        Ok(self.client.start_workflow(column, spec, options).await?)
    }

    /// Runs a workflow, and measures the time from the request that starts it to its result.
    pub(super) async fn run(&self, column: Column, task_queue: &str, spec: Spec) -> anyhow::Result<Ended> {
        let began = Instant::now();
        let handle = self.begin(column, task_queue, spec).await?;
        let result = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await;
        let output = result.with_context(|| format!("{} has not ended after {PATIENCE:?}", column.name()))??;
        let took = began.elapsed();
        ensure!(output == column.expected(&spec), "{} answered {output:?} to {spec:?}", column.name());
        Ok(Ended { took, handle })
    }

    pub(super) async fn end(self) {
        self.process.shutdown().await;
    }
}
