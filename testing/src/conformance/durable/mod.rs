//! The workflow host: one dev server for all scenarios, with a separate task queue and worker per
//! scenario.
//!
//! Scenarios have tools that share names but behave differently, so they cannot share a worker.
//! After a scenario, the host fetches its histories from the server, counts their activities, reads
//! each as a transcript and replays it.

mod chain;
mod workflow;

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::Value;
use temporal_agents::{
    AgentsPlugin, Resources,
    client::{
        RunEvents, RunEventsError,
        transcript::{Transcript, TranscriptError},
    },
    wire::MODEL_ACTIVITY,
    worker::ConversationCache,
};
use temporalio_client::{
    Client, WorkflowGetResultOptions, WorkflowStartOptions, WorkflowTerminateOptions,
    errors::{WorkflowGetResultError, WorkflowInteractionError},
};
use temporalio_common::data_converters::DataConverter;
use temporalio_sdk::WorkerOptions;
use tokio::{task::spawn_blocking, time::timeout};

use self::workflow::{ConformanceWorkflow, Stage};
use super::{
    Activities,
    build::dispatchers,
    format::Scenario,
    model::ScriptedModels,
    recorder::{Pace, Recorder},
};
use crate::{
    dev_server::DevServer,
    environment::{EnvironmentError, WorkerThread, activities},
    history::History,
    replay::{ReplayError, replay, replay_without_cache},
};

/// A scenario that takes longer hangs, most likely in a workflow task that fails repeatedly.
const PATIENCE: Duration = Duration::from_secs(40);

/// The minimum interval between two delays of a scenario: longer than a busy machine takes to start
/// an activity.
const STEP: Duration = Duration::from_millis(150);

/// A dev server for scenarios.
pub(super) struct DurableHost {
    server: DevServer,
    client: Client,
    mode: Mode,
    started: AtomicU32,
}

/// The way in which scenarios are played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Cached,
    /// Workers have no workflow cache, and a paused scenario continues in a new workflow run.
    Uncached,
    /// Activity tools of one response run in one activity.
    Batched,
}

/// A reason for which a scenario could not be played in a workflow.
#[derive(Debug, thiserror::Error)]
pub(super) enum DurableError {
    /// The worker or the workflow could not be started, or the worker failed.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// The workflow failed. A failed agent run is not such a failure: the workflow returns it as a
    /// result.
    #[error("the workflow failed: {0}")]
    Workflow(#[from] WorkflowGetResultError),
    /// The workflow did not end in time.
    #[error("the workflow did not end within {PATIENCE:?}; last workflow task failure: {reason}")]
    Hangs {
        /// Message of its last failed workflow task; `none` if no task failed.
        reason: String,
    },
    /// A history could not be fetched.
    #[error("the history could not be fetched: {0}")]
    History(#[from] WorkflowInteractionError),
    /// A history does not replay.
    #[error("a history does not replay: {0}")]
    Replay(#[from] ReplayError),
    /// No transcript could be read from a history.
    #[error("the transcript could not be read: {0}")]
    Transcript(#[from] TranscriptError),
    /// The events could not be read.
    #[error("the events could not be read: {0}")]
    Events(#[from] RunEventsError),
    /// The request of a model call cannot be reconstructed from its history.
    #[error("a model call is incomplete in the transcript: {reason}")]
    Request {
        /// The reason that the transcript reports.
        reason: String,
    },
    /// A workflow task failed, although the workflow ended.
    #[error("a workflow task failed: {reason}")]
    Task {
        /// Message of the failure.
        reason: String,
    },
}

impl DurableHost {
    /// Starts the server.
    pub(super) async fn start(mode: Mode) -> Result<Self, EnvironmentError> {
        let server = DevServer::start().await?;
        let client = server.client().await?;
        Ok(Self { server, client, mode, started: AtomicU32::new(0) })
    }

    /// Returns the duration of a scenario's delays on this host.
    pub(super) fn pace(scenario: &Scenario) -> Pace {
        Pace::ranked(scenario, STEP)
    }

    /// Plays a scenario, counts the activities in its histories and replays them.
    pub(super) async fn run(
        &self,
        scenario: &Scenario,
        json: &Value,
        recorder: &Recorder,
    ) -> Result<(Value, Activities), DurableError> {
        let id = format!("conformance-{}", self.started.fetch_add(1, Ordering::Relaxed));
        let mut worker = self.worker(&id, scenario, recorder).await?;
        let played = self.play(&id, json).await;
        if played.is_ok() {
            self.facts(&id, recorder).await?;
        }
        // On a blocking thread, because `stop` blocks until the worker has ended.
        let stopped = spawn_blocking(move || worker.stop()).await;
        let (observed, histories) = played?;
        stopped.unwrap_or_else(|error| Err(EnvironmentError::Worker(error.to_string())))?;
        let mut count = Activities::default();
        for history in &histories {
            self.check(history, &mut count).await?;
        }
        Ok((observed, count))
    }

    /// Starts a worker that serves the scenario's task queue.
    async fn worker(
        &self,
        id: &str,
        scenario: &Scenario,
        recorder: &Recorder,
    ) -> Result<WorkerThread, EnvironmentError> {
        let mut options = WorkerOptions::new(id).register_workflow::<ConformanceWorkflow>()?.build();
        options.graceful_shutdown_period = Some(Duration::from_secs(1));
        options.max_heartbeat_throttle_interval = Duration::from_millis(100);
        if self.mode == Mode::Uncached {
            options.max_cached_workflows = 0;
        }
        let resources = Resources::new().model_provider(ScriptedModels(recorder.clone())).state(recorder.clone());
        let mut plugin = AgentsPlugin::new(resources);
        if self.mode == Mode::Uncached {
            plugin = plugin.conversation_cache(ConversationCache::with_bytes(0));
        }
        dispatchers(scenario).into_iter().fold(plugin, AgentsPlugin::tool).install(&mut options)?;
        let (target, namespace) = (self.server.target_url(), self.server.namespace().to_owned());
        let started = spawn_blocking(move || WorkerThread::start(target, &namespace, options)).await;
        started.unwrap_or_else(|error| Err(EnvironmentError::Worker(error.to_string())))
    }

    /// Runs the workflow to its end, and fetches the histories of all its runs.
    async fn play(&self, id: &str, json: &Value) -> Result<(Value, Vec<History>), DurableError> {
        let stage = Stage::first(json.clone(), self.mode);
        let options = WorkflowStartOptions::new(id, id).build();
        let started = self.client.start_workflow(ConformanceWorkflow::run, stage, options).await;
        let handle = started.map_err(EnvironmentError::from)?;
        let first_run = handle.info().first_execution_run_id.clone();
        if let Ok(result) = timeout(PATIENCE, handle.get_result(WorkflowGetResultOptions::default())).await {
            return Ok((result?, chain::fetch(&self.client, id, first_run).await?));
        }
        let histories = chain::fetch(&self.client, id, None).await?;
        // Otherwise the worker would wait for the workflow's next task. An error here does not
        // change the result.
        drop(handle.terminate(WorkflowTerminateOptions::default()).await);
        let reason = histories.last().and_then(chain::failed_task).unwrap_or_else(|| "none".to_owned());
        Err(DurableError::Hangs { reason })
    }

    /// Reads the facts of the runs from the histories, to their end.
    async fn facts(&self, id: &str, recorder: &Recorder) -> Result<(), DurableError> {
        let mut events = RunEvents::new(&self.client).watch(id);
        while let Some(event) = events.next().await {
            recorder.told(&event?);
        }
        Ok(())
    }

    /// Counts the activities of a history, reads it as a transcript, and replays it in one pass; in the
    /// mode without a cache, also up to each of its workflow tasks in turn.
    async fn check(&self, history: &History, count: &mut Activities) -> Result<(), DurableError> {
        if let Some(reason) = chain::failed_task(history) {
            return Err(DurableError::Task { reason });
        }
        // An activity that was cancelled before a worker started it made no call.
        for activity in activities(history).into_iter().filter(|activity| activity.attempts > 0) {
            if activity.activity_type == MODEL_ACTIVITY {
                count.model += 1;
            } else {
                count.tools += calls_of(&activity.activity_id);
            }
        }
        let transcript = Box::pin(Transcript::of_history(history.clone(), &DataConverter::default())).await?;
        if let Some(reason) = transcript.calls().into_iter().find_map(|call| call.incomplete_input.clone()) {
            return Err(DurableError::Request { reason });
        }
        replay::<ConformanceWorkflow>(history).await?;
        match self.mode {
            Mode::Cached | Mode::Batched => Ok(()),
            Mode::Uncached => Ok(replay_without_cache::<ConformanceWorkflow>(history).await?),
        }
    }

    /// Stops the server.
    pub(super) async fn shutdown(self) {
        let Self { server, client, mode: _, started: _ } = self;
        drop(client);
        server.shutdown().await;
    }
}

/// Returns the number of tool calls that an activity makes: the id of a batch names them, as
/// `..-tools-0_3.5`.
fn calls_of(activity_id: &str) -> usize {
    let number = |text: &str| text.parse().unwrap_or(0_usize);
    let calls = |part: &str| part.split_once('_').map_or(1, |(first, last)| number(last) - number(first) + 1);
    activity_id.rsplit_once("-tools-").map_or(1, |(_, parts)| parts.split('.').map(calls).sum())
}
