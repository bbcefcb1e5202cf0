//! The activity in which a scenario is played, and the workflow that calls it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::{FutureExt, future::LocalBoxFuture};
use serde_json::Value;
use temporal_agents::{
    RunConfig,
    agentic_session::{AgenticSession, AgenticSessionError},
    wire::{Item, RunState, SessionCheckpoint},
};
use temporalio_common::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, WorkflowContext, WorkflowResult,
    activities::{ActivityContext, ActivityError},
};
use tokio::{runtime::Handle, task::spawn_blocking};

use super::attempt::{Attempt, Attempts};
use crate::conformance::{
    build::{AnyAgent, Seen, Witness},
    format::Scenario,
    inline::{self, watch_round_trip},
    play::{Running, Runs, play_through, runs_with},
    progress::Progress,
    recorder::Recorder,
};

/// The inputs of playing a scenario.
pub(crate) struct Stage {
    pub(super) scenario: Scenario,
    pub(super) recorder: Recorder,
    pub(super) attempts: Arc<Attempts>,
}

/// The stages by workflow id.
#[derive(Clone, Default)]
pub(crate) struct Stages(Arc<Mutex<BTreeMap<String, Arc<Stage>>>>);

/// The error that ends an interrupted attempt.
#[derive(Debug, thiserror::Error)]
#[error("the attempt is interrupted")]
struct Interrupted;

/// The error if the host no longer waits for the scenario.
#[derive(Debug, thiserror::Error)]
#[error("no scenario is registered for workflow {0:?}")]
struct UnknownWorkflow(String);

/// Runs agents in a session.
struct InSession {
    session: AgenticSession,
    recorder: Recorder,
    attempt: Arc<Attempt>,
}

impl Stages {
    pub(super) fn set(&self, id: &str, stage: Stage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), Arc::new(stage));
    }

    pub(super) fn clear(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    fn of(&self, ctx: &ActivityContext) -> Result<Arc<Stage>, UnknownWorkflow> {
        let id = ctx.info().workflow_id.as_deref().unwrap_or_default();
        let stages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stages.get(id).cloned().ok_or_else(|| UnknownWorkflow(id.to_owned()))
    }
}

#[activities]
impl Stages {
    #[activity]
    pub(crate) async fn play(self: Arc<Self>, ctx: ActivityContext) -> Result<Value, ActivityError> {
        let stage = self.of(&ctx)?;
        let attempt = stage.attempts.next();
        // Details that are not a checkpoint are ignored here: the session reports them.
        let left = ctx.heartbeat_details().deserialize::<Option<SessionCheckpoint>>().ok().flatten().flatten();
        let seen = stage.attempts.seen_at(&left.unwrap_or_default());
        let playing = Arc::clone(&attempt);
        let ended = AgenticSession::run(&ctx, async |session| {
            // The future of `play` is not `Send`.
            let runtime = Handle::current();
            let played = spawn_blocking(move || runtime.block_on(stage.play(session, playing, seen))).await;
            played.unwrap_or_else(|panic| Err(panic.into()))
        })
        .await;
        attempt.is_over();
        ended
    }
}

impl Stage {
    /// Plays until the end of the scenario or of the attempt.
    async fn play(
        &self,
        session: AgenticSession,
        attempt: Arc<Attempt>,
        seen: Seen,
    ) -> Result<Value, AgenticSessionError> {
        // The attempt reports all facts, those of earlier attempts included.
        self.recorder.take_facts();
        let recorder = self.recorder.at(Arc::clone(&attempt));
        let host = InSession { session, recorder, attempt: Arc::clone(&attempt) };
        let progress = Progress { seen, ..Progress::of(&self.scenario) };
        let playing = async {
            let observed = play_through(&self.scenario, progress, &host).await?;
            attempt.before("the end".to_owned()).await?;
            Ok::<_, AgenticSessionError>(observed)
        };
        tokio::select! {
            biased;
            () = attempt.ends() => Err(Interrupted.into()),
            observed = playing => observed,
        }
    }
}

impl Runs for InSession {
    runs_with!(|host: &Self, config| {
        let (watching, watched) = (Arc::clone(&host.attempt), host.recorder.clone());
        let runner = inline::runner(config, &host.recorder).on_checkpoint(move |state| {
            watch_round_trip(&watched, state);
            watching.reached(state);
        });
        host.session.runner(&runner)
    });

    fn run_is_due(&self) -> LocalBoxFuture<'_, ()> {
        // The future of the runs is dropped when the attempt ends, so the error needs no handling.
        Box::pin(self.attempt.before_run().map(drop))
    }

    fn witness(&self, seen: Seen) -> Witness {
        let witness = Witness::new(seen);
        self.attempt.sees_with(&witness);
        witness
    }
}

/// Plays a scenario in an activity and returns the observations.
#[workflow]
#[derive(Default)]
pub(crate) struct PlayInSession;

#[workflow_methods]
impl PlayInSession {
    #[run(name = "conformance-session")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<Value> {
        let retries = RetryPolicy::builder().initial_interval(Duration::from_millis(1)).backoff_coefficient(1.0);
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_mins(1))
            .heartbeat_timeout(Duration::from_secs(20))
            .retry_policy(retries.build())
            .build();
        Ok(ctx.execute_activity(Stages::play, (), options).await?)
    }
}
