//! The session host: one dev server and one worker for all scenarios, and for each scenario a
//! workflow that does not itself use agents and calls one activity, in which the scenario is
//! played.
//!
//! If sessions are interrupted, an attempt of the activity fails before each effect: the call of a
//! model, the body of a tool, the beginning of a run, the end of the activity. The next attempt
//! continues from the checkpoint and completes one more effect. The observations must be the same
//! as without interruptions.

mod activity;
mod attempt;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use serde_json::Value;
use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowStartOptions, WorkflowTerminateOptions, errors::WorkflowGetResultError,
};
use temporalio_sdk::WorkerOptions;
use tokio::{task::spawn_blocking, time::timeout};

pub(crate) use self::attempt::{Attempt, AttemptOver};
use self::{
    activity::{PlayInSession, Stage, Stages},
    attempt::Attempts,
};
use super::{format::Scenario, recorder::Recorder};
use crate::{
    dev_server::DevServer,
    environment::{EnvironmentError, WorkerThread},
};

/// A scenario that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(2);

/// The task queue of all scenarios.
const QUEUE: &str = "conformance";

/// A dev server and a worker for scenarios.
pub(super) struct SessionHost {
    // Declared in the order in which they must be dropped.
    worker: WorkerThread,
    client: Client,
    server: DevServer,
    stages: Stages,
    interrupts: bool,
    started: AtomicU32,
}

/// A reason for which a scenario could not be played in a session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The server, the worker or the workflow could not be started.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The activity failed. A failed agent run is not such a failure: the activity returns it as a
    /// result.
    #[error("the workflow failed: {0}")]
    Workflow(#[from] WorkflowGetResultError),
    /// The workflow did not end in time.
    #[error("the workflow did not end within {PATIENCE:?}, after {attempts} attempts of its activity")]
    Hangs {
        /// Number of attempts made.
        attempts: u32,
    },
}

impl SessionHost {
    /// Starts the server and the worker.
    pub(super) async fn start(interrupts: bool) -> Result<Self, EnvironmentError> {
        let server = DevServer::start().await?;
        let client = server.client().await?;
        let stages = Stages::default();
        let options = WorkerOptions::new(QUEUE).register_workflow::<PlayInSession>()?;
        let mut options = options.register_activities(stages.clone()).build();
        options.graceful_shutdown_period = Some(Duration::from_secs(1));
        let (target, namespace) = (server.target_url(), server.namespace().to_owned());
        let worker = spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await;
        let worker = worker.unwrap_or_else(|error| Err(EnvironmentError::Worker(error.to_string())))?;
        Ok(Self { worker, client, server, stages, interrupts, started: AtomicU32::new(0) })
    }

    /// Plays a scenario in a session, and counts the attempts.
    pub(super) async fn run(&self, scenario: Scenario, recorder: &Recorder) -> Result<(Value, u32), SessionError> {
        let id = format!("conformance-{}", self.started.fetch_add(1, Ordering::Relaxed));
        let attempts = Arc::new(Attempts::new(self.interrupts));
        self.stages.set(&id, Stage { scenario, recorder: recorder.clone(), attempts: Arc::clone(&attempts) });
        let options = WorkflowStartOptions::new(QUEUE, &id).build();
        let started = self.client.start_workflow(PlayInSession::run, (), options).await;
        let handle = started.map_err(EnvironmentError::from)?;
        let result = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await;
        self.stages.clear(&id);
        let Ok(result) = result else {
            // Otherwise the worker would wait for the workflow. An error here does not change the
            // result.
            drop(handle.terminate(WorkflowTerminateOptions::default()).await);
            return Err(SessionError::Hangs { attempts: attempts.made() });
        };
        Ok((result?, attempts.made()))
    }

    /// Stops the worker and the server.
    pub(super) async fn shutdown(self) {
        let Self { mut worker, client, server, stages: _, interrupts: _, started: _ } = self;
        drop(client);
        // On a blocking thread, because `stop` blocks until the worker has ended. An error of the
        // worker has already failed a scenario.
        drop(spawn_blocking(move || worker.stop()).await);
        server.shutdown().await;
    }
}
