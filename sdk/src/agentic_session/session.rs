//! An active session, and the runner that its body uses.

use std::sync::{Arc, atomic::AtomicU32};

use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use temporal_agents_core::{
    agent::{Agent, AgentDef},
    drive::{
        AgentRunner, IntoRun, Outputs, Run, RunConfig, RunEnd, RunFailure, RunOutcome, RunRequest, RunResult, RunsTo,
        SessionRef, run_agents,
    },
    wire::RunEvent,
};
use temporalio_sdk::activities::ActivityContext;
use tokio_util::sync::CancellationToken;

use super::{
    approver::Approver,
    calls::Calls,
    deltas::SessionDeltas,
    end::End,
    fact_log,
    format::CheckpointFormat,
    host::SessionHost,
    options::AgenticSessionOptions,
    progress::{Begun, Progress},
    proposal,
    writer::Writer,
};
use crate::{
    events::{EventPublisher, RunObserver},
    inline::{InlineRunner, runner::on_a_thread},
};

/// Runs agents inside one activity, whose heartbeats carry the session's progress: a session that
/// is interrupted by a crash, a deploy or a failed attempt continues from its last checkpoint. See
/// [the module](super) for its costs and guarantees.
///
/// Clones share the same session.
#[derive(Clone)]
pub struct AgenticSession {
    pub(super) shared: Arc<Shared>,
}

/// The state that all runs of a session share.
pub(super) struct Shared {
    pub(super) ctx: ActivityContext,
    pub(super) progress: Arc<Progress>,
    pub(super) writer: Arc<Writer>,
    pub(super) format: CheckpointFormat,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) checkpoint_every: u32,
    pub(super) compaction_threshold: usize,
    /// An identifier of the session that is the same in each attempt.
    pub(super) scope: String,
    pub(super) is_resumed: bool,
    pub(super) deltas: Option<Arc<SessionDeltas>>,
    pub(super) end: Arc<End>,
}

impl Shared {
    /// Starts the write of all changes that must be written, and does not wait for it.
    pub(super) fn write_soon(&self) {
        let writer = Arc::clone(&self.writer);
        tokio::spawn(async move {
            // The next call that waits for the write returns the error.
            let _ = writer.settle().await;
        });
    }
}

impl AgenticSession {
    /// Returns the default options, to change them.
    pub fn options() -> AgenticSessionOptions {
        AgenticSessionOptions::default()
    }

    /// Returns a runner with the models, states, stores, MCP servers and configuration of an inline
    /// runner.
    ///
    /// The runs of a session are identified by the order in which they begin, and by their agents.
    /// A body must therefore begin them in the same order in each attempt. Concurrent runs
    /// (`join!`) are allowed if the order in which runs begin does not depend on the order in which
    /// others end.
    pub fn runner(&self, runner: &InlineRunner) -> SessionRunner {
        SessionRunner { session: self.clone(), runner: runner.clone() }
    }

    /// `true` if the session continues from the checkpoint of an earlier attempt.
    pub fn is_resumed(&self) -> bool {
        self.shared.is_resumed
    }

    /// Adds a result, between the runs. The next attempt runs the body again and adds the result
    /// again; for that reason, results added here are not restored from a checkpoint. Tools add
    /// theirs with [`SessionResults`](super::SessionResults).
    ///
    /// # Errors
    /// The result cannot be written as JSON.
    pub fn push(&self, result: impl Serialize) -> Result<(), serde_json::Error> {
        self.shared.progress.gather(serde_json::to_value(result)?);
        Ok(())
    }

    /// Returns the results added so far, in order, including those of earlier attempts.
    ///
    /// # Errors
    /// A result is not of type `T`.
    pub fn results<T: DeserializeOwned>(&self) -> Result<Vec<T>, serde_json::Error> {
        self.shared.progress.results().into_iter().map(serde_json::from_value).collect()
    }

    /// Returns the facts of the session's runs so far, in the order in which the runs began, with
    /// those of earlier attempts. A reader outside of the worker finds them in the checkpoint, with
    /// [`RunEvents::session_facts`](crate::client::RunEvents::session_facts), until the activity
    /// ends: return them from the activity to keep them. Empty with the checkpoint format of the
    /// proposal.
    ///
    /// A session keeps 256 kB of facts, and drops those of the first runs first. The failure or
    /// cancellation of a run is not among them, because another attempt continues the run.
    pub fn facts(&self) -> Vec<RunEvent> {
        self.shared.progress.facts()
    }

    /// The context of the activity. Its heartbeats belong to the session: do not record others,
    /// because they would replace the checkpoint.
    pub fn activity(&self) -> &ActivityContext {
        &self.shared.ctx
    }

    /// Waits until the activity is cancelled, or its worker shuts down.
    pub async fn cancelled(&self) {
        self.shared.end.token().cancelled().await;
    }
}

impl std::fmt::Debug for AgenticSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgenticSession").field("scope", &self.shared.scope).finish_non_exhaustive()
    }
}

/// Runs agents in a session, as a [`Runner`](crate::Runner) does in a workflow.
#[derive(Clone, Debug)]
pub struct SessionRunner {
    session: AgenticSession,
    runner: InlineRunner,
}

impl SessionRunner {
    /// Runs an agent, and the agents it hands off to, until there is a final output. A call that
    /// needs approval waits for the approver of the session.
    ///
    /// The run begins from a message, from items, or from the state of a paused run: see
    /// [`IntoRun`]. It begins when the request is awaited;
    /// [`until_paused`](RunRequest::until_paused) and [`untyped`](RunRequest::untyped) change what
    /// it returns.
    ///
    /// A run from a [`RunState`](temporal_agents_core::wire::RunState) is resumed, after decisions on its calls.
    /// Calls without a decision keep it paused, if the session has no approver.
    ///
    /// # Errors
    /// The request fails with a [`RunFailure`]. A run that waits for a decision fails if the
    /// session has no approver, unless the request is
    /// [`until_paused`](RunRequest::until_paused). A state that does not fit the agents fails with
    /// a list of what is missing.
    pub fn run<'a, O>(&'a self, agent: &'a Agent<O>, from: impl IntoRun<Self>) -> RunRequest<'a, Self, RunResult<O>> {
        RunRequest::new(self, agent, from)
    }

    async fn run_to_outcome<O: DeserializeOwned + Send + 'static>(
        &self,
        agent: &AgentDef,
        run: Run,
        outputs: Outputs,
    ) -> Result<RunOutcome<O>, RunFailure> {
        let (shared, runner, agent) = (Arc::clone(&self.session.shared), self.runner.clone(), agent.clone());
        let observer = runner.observer(&run, activity_of(&shared.ctx));
        let begun = shared.progress.begin(&agent.name);
        let of_session = shared.end.token().clone();
        on_a_thread(move |cancelled| async move {
            // A run ends with its session, and with the future of the caller that has begun it.
            tokio::spawn(link(of_session, cancelled.clone()));
            let run = match (&begun.earlier.state, &begun.earlier.conversation) {
                (Some(state), _) => Run::Continue(state.clone()),
                (None, Some(conversation)) => Run::Start(conversation.clone().into()),
                (None, None) => run,
            };
            let (host, config) = host(shared, runner, &begun, cancelled, observer);
            if host.shared.format.is_proposal() {
                proposal::check_run(&agent, &config, begun.ordinal)?;
            }
            let ended = run_agents(&host, &agent, &config, run, outputs).await;
            if ended.is_ok() {
                // The end of the run is kept like its turns; the next run begins after it.
                let _ = host.shared.writer.settle().await;
            }
            ended
        })
        .await
    }
}

impl AgentRunner for SessionRunner {
    type Error = RunFailure;
    type Start = Run;
}

impl<T: RunEnd<Output: DeserializeOwned + Send + 'static>> RunsTo<T> for SessionRunner {
    type Running<'a>
        = BoxFuture<'a, Result<T, RunFailure>>
    where
        T: 'a;

    fn run_to<'a>(&'a self, agent: &'a AgentDef, run: Run, outputs: Outputs) -> Self::Running<'a>
    where
        T: 'a,
    {
        async move { T::of(Box::pin(self.run_to_outcome(agent, run, outputs)).await?) }.boxed()
    }
}

/// Returns the ids of the activity of a session, of which those of its spans are made.
fn activity_of(ctx: &ActivityContext) -> Option<[String; 3]> {
    let info = ctx.info();
    Some([info.workflow_id.clone()?, info.workflow_run_id.clone()?, info.activity_id.clone()])
}

/// Cancels `token` when `of` is cancelled. Returns when either is cancelled.
async fn link(of: CancellationToken, token: CancellationToken) {
    if token.run_until_cancelled(of.cancelled()).await.is_some() {
        token.cancel();
    }
}

/// Returns the host of a run, restored to the state that an earlier attempt has left, and the run's
/// configuration.
fn host(
    shared: Arc<Shared>,
    runner: InlineRunner,
    begun: &Begun,
    cancelled: CancellationToken,
    observer: Option<RunObserver>,
) -> (SessionHost, RunConfig) {
    let mut name = format!("{}-{}", shared.scope, begun.ordinal);
    if shared.format.is_proposal() {
        // Each attempt counts turns from the beginning: the keys of its calls must not be those of
        // other calls of an earlier attempt.
        name = format!("{name}-{}", shared.ctx.info().attempt);
    }
    let (mut inner, config) = runner.host(name, cancelled, observer.clone());
    if !shared.format.is_proposal() {
        let run = (begun.ordinal, &begun.earlier);
        let subscriber = inner.publisher.as_deref().and_then(EventPublisher::subscriber);
        let subscriber = match &shared.deltas {
            Some(deltas) => Some(deltas.with(subscriber)),
            None => subscriber,
        };
        let publisher = fact_log::publisher(&shared.progress, run, (subscriber, observer), &inner.run);
        inner.publisher = Some(publisher);
    }
    let (calls, states) = (Calls::default(), inner.resources.states.clone());
    let gathers = calls.clone();
    inner.attempt_states = Some(Arc::new(move |call| gathers.states(&states, call)));
    let of_session = Arc::clone(&shared);
    inner.is_continued_later = Some(Arc::new(move || of_session.end.is_continued_by_next_attempt()));
    let memory = match &config.session {
        Some(SessionRef::Memory(memory)) => Some(memory.clone()),
        _ => None,
    };
    let host = SessionHost {
        inner,
        shared,
        ordinal: begun.ordinal,
        calls,
        memory,
        compacts: config.compaction.is_some(),
        goes_on: false.into(),
        compacted_at: AtomicU32::new(0),
    };
    host.take_up(begun);
    (host, config)
}
