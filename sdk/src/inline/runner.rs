//! Runs agents without Temporal: for scripts, for tests, and for services that can afford to lose a
//! run.

use std::{
    future::Future,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use serde::{Serialize, de::DeserializeOwned};
use temporal_agents_core::{
    agent::{Agent, AgentDef},
    drive::{
        AgentRunner, IntoRun, Outputs, Run, RunConfig, RunEnd, RunFailure, RunRequest, RunResult, RunsTo, SessionRef,
        run_agents,
    },
    engine::RunError,
    gate::Gate,
    tool::OnToolError,
    wire::{RunEvent, RunState},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    host::{Checkpoint, InlineHost, Patience},
    run_threads::{BodyThread, run_on_run_thread},
};
use crate::{
    events::{EventPublisher, EventSink, RunObserver, RunTracer, TracedRun},
    metrics::Metrics,
    resources::Resources,
};

/// Runs the same agents and tools on plain tokio, with the same results and errors; nothing
/// survives the process.
///
/// The future of a run is `Send`, so a web handler can await it, and dropping it cancels the run.
///
/// # Threads
/// All runs of the process share a few threads, as many as there are cores, but at least 2 and at
/// most 16. A run that waits occupies none of them, and tokio's blocking pool remains free. Inline
/// tools and the author's functions (hooks, instructions, guardrails) are called on these threads,
/// and models are polled there. One that blocks its thread delays the other runs on it, so it must
/// be short. The bodies of activity tools have threads of their own, with the same limits: one that
/// blocks delays no other run, but may delay other bodies, so a long-running tool should await, or
/// block in `tokio::task::spawn_blocking`.
///
/// ```no_run
/// # use temporal_agents::{Agent, inline::InlineRunner, provider::OpenAi};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let clerk = Agent::new("clerk").model("gpt-5-mini").instructions("You are brief.");
/// let runner = InlineRunner::new(OpenAi::from_env()?);
/// println!("{}", runner.run(&clerk, "What is a lock file?").await?.final_output);
/// # Ok(())
/// # }
/// ```
///
/// # Retries
/// A model call that may succeed later has three attempts in all, with the pauses that the provider
/// requests. One attempt may last 10 minutes, and all attempts together 6 hours.
/// `ModelSettings::retry` and `ModelSettings::timeout` have precedence over these values. A tool is
/// retried according to its own options, except for its task queue and its heartbeat.
#[derive(Clone, Default)]
pub struct InlineRunner {
    resources: Resources,
    checkpoint: Option<Checkpoint>,
    events: Option<EventSink>,
    tracer: Option<RunTracer>,
    metrics: Option<Metrics>,
    config: RunConfig,
    patience: Patience,
}

impl Default for Patience {
    fn default() -> Self {
        Self { model_attempts: 3, first_pause: Duration::from_secs(1) }
    }
}

impl InlineRunner {
    /// Creates a runner with these resources, or with a model provider alone, and with the defaults
    /// of [`RunConfig`].
    pub fn new(resources: impl Into<Resources>) -> Self {
        Self::with_config(resources, RunConfig::default())
    }

    /// Creates a runner with these resources, or with a model provider alone, and with this
    /// configuration for all agents of its runs. The methods of the runner change it further.
    pub fn with_config(resources: impl Into<Resources>, config: RunConfig) -> Self {
        Self { resources: resources.into().of_one_host(), config, ..Self::default() }
    }

    /// Returns the resources of its runs.
    #[cfg(any(feature = "postgres", feature = "sqlite"))]
    pub(crate) fn resources(&self) -> &Resources {
        &self.resources
    }

    /// Sets the session from which a run reads the earlier items of the conversation, and to which
    /// it adds its own.
    #[must_use]
    pub fn session(mut self, session: impl Into<SessionRef>) -> Self {
        self.config.session = Some(session.into());
        self
    }

    /// Sets the model of all agents of the run, in place of the models that they name themselves.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.config.model = Some(model.into());
        self
    }

    /// Sets the maximum number of model calls of a run, over all its agents. Default 10.
    #[must_use]
    pub fn max_turns(mut self, max_turns: u32) -> Self {
        self.config.max_turns = Some(max_turns);
        self
    }

    /// See [`RunConfig::gate`].
    #[must_use]
    pub fn gate(mut self, gate: Gate) -> Self {
        self.config.gate = Some(gate);
        self
    }

    /// See [`RunConfig::keep_decisions`].
    #[must_use]
    pub fn keep_decisions(mut self, keeps: bool) -> Self {
        self.config.keep_decisions = keeps;
        self
    }

    /// See [`RunConfig::toolsets`].
    #[must_use]
    pub fn toolsets<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.config.toolsets = names.into_iter().map(Into::into).collect();
        self
    }

    /// See [`RunConfig::user`].
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.config.user = Some(user.into());
        self
    }

    /// Sets the rule for failed calls of tools that have none of their own:
    /// [`OnToolError::describe_argument_errors`] reports to the model which arguments do not fit.
    /// See [`RunConfig::on_tool_error`].
    #[must_use]
    pub fn on_tool_error(mut self, rule: OnToolError) -> Self {
        self.config.on_tool_error = rule;
        self
    }

    /// Sets a key of the run context. A value that cannot be serialized as JSON fails the run.
    #[must_use]
    pub fn context(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        self.config.set_context(key, value);
        self
    }

    /// Sets a function that receives the state before each step, also the steps of runs inside the
    /// run: for tests, and for callers that store states.
    #[must_use]
    pub fn on_checkpoint(mut self, checkpoint: impl Fn(&RunState) + Send + Sync + 'static) -> Self {
        self.checkpoint = Some(Arc::new(checkpoint));
        self
    }

    /// Sets the function that receives the events of the runs: the same facts that
    /// [`RunEvents`](crate::client::RunEvents) reads of a workflow, and deltas. The runner calls
    /// the function on the thread of the run, or of a tool's body, one event at a time: it must
    /// not block, so pass the events to a channel. A panic of the function is logged, and the run
    /// goes on. A second call replaces the function.
    ///
    /// ```
    /// # use temporal_agents::{Agent, inline::InlineRunner, wire::EventKind};
    /// # fn example(runner: InlineRunner) -> InlineRunner {
    /// runner.on_event(|event| {
    ///     if let EventKind::Message { text, .. } = &event.kind {
    ///         println!("{}: {text}", event.agent);
    ///     }
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn on_event(mut self, subscriber: impl Fn(&RunEvent) + Send + Sync + 'static) -> Self {
        self.events = Some(Arc::new(subscriber));
        self
    }

    /// Sets the maker of spans of the runs: `Tracing::tracer` (feature `otel`). They have the names
    /// and attributes of those of a workflow. Their parent is the span of the current context of
    /// `opentelemetry` where the request is awaited, if there is one; `FutureExt::with_context`
    /// sets another. Spans that the code of a tool or a provider opens are below that of its
    /// attempt. This also applies to a session: the header of its activity is not read, so
    /// that the parent is the one that the activity's code, or a plugin around it, has set. The ids
    /// of a session's spans are made of those of the activity, so that its attempts send the same
    /// spans. A second call replaces the maker.
    #[must_use]
    pub fn tracer(mut self, tracer: RunTracer) -> Self {
        self.tracer = Some(tracer);
        self
    }

    /// Counts the attempts of the runs at calls of models and tools, with their tokens and costs:
    /// see [`Metrics`]. A second call replaces the metrics.
    #[must_use]
    pub fn metrics(mut self, metrics: &Metrics) -> Self {
        self.metrics = Some(metrics.clone());
        self
    }

    /// Returns the trace of a run that begins or continues here, in this activity.
    pub(crate) fn observer(&self, run: &Run, activity: Option<[String; 3]>) -> Option<RunObserver> {
        self.observer_with(&self.config, run, activity)
    }

    /// Returns the trace of a run with this configuration.
    pub(crate) fn observer_with(
        &self,
        config: &RunConfig,
        run: &Run,
        activity: Option<[String; 3]>,
    ) -> Option<RunObserver> {
        let config = config.traced_as(run);
        self.tracer.as_ref()?.begin(&TracedRun { settings: &config.trace, activity })
    }

    /// Sets the pause before the first retry of a model call or a tool; it doubles with each retry.
    /// Default 1 s.
    #[must_use]
    pub fn first_pause(mut self, pause: Duration) -> Self {
        self.patience.first_pause = pause;
        self
    }

    /// Runs an agent, and the agents it hands off to, until there is a final output.
    ///
    /// The run begins from a message, from items, or from the state of a paused run: see
    /// [`IntoRun`]. It begins when the request is awaited;
    /// [`until_paused`](RunRequest::until_paused) and [`untyped`](RunRequest::untyped) change what
    /// it returns.
    ///
    /// A run from a [`RunState`] is resumed, after decisions on its calls, which may have been made
    /// in this process or elsewhere. Calls without a decision keep the run paused.
    ///
    /// ```
    /// # use temporal_agents::{Agent, RunFailure, inline::InlineRunner};
    /// # use temporal_agents::{run::RunOutcome, wire::RunState};
    /// # async fn example(runner: InlineRunner, clerk: Agent) -> Result<(), RunFailure> {
    /// # fn decided(state: RunState) -> RunState { state }
    /// let mut outcome = runner.run(&clerk, "Refund order 7.").until_paused().await?;
    /// while let RunOutcome::Paused(paused) = outcome {
    ///     let state = decided(paused.state); // one JSON value, with the decisions of a person
    ///     outcome = runner.run(&clerk, state).until_paused().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The request fails with a [`RunFailure`], with the state of the run. A call that needs
    /// approval fails the run, unless the request is [`until_paused`](RunRequest::until_paused). A
    /// state that does not fit the agents fails with a list of the missing parts.
    ///
    /// # Panics
    /// The request panics when it is awaited outside of a tokio runtime.
    pub fn run<'a, O>(&'a self, agent: &'a Agent<O>, from: impl IntoRun<Self>) -> RunRequest<'a, Self, RunResult<O>> {
        RunRequest::new(self, agent, from)
    }

    /// Returns the host of a run with this id, which no other run may have, and its configuration.
    pub(crate) fn host(
        self,
        run: String,
        cancelled: CancellationToken,
        observer: Option<RunObserver>,
    ) -> (InlineHost, RunConfig) {
        let Self { resources, checkpoint, events, tracer: _, metrics, config, patience } = self;
        let publisher = EventPublisher::of_both(&run, events, observer).map(Arc::new);
        let (attempt_states, session_writes) = (None, AtomicU32::new(0));
        let host = InlineHost {
            resources,
            checkpoint,
            attempt_states,
            is_continued_later: None,
            run,
            session_writes,
            patience,
            cancelled,
            publisher,
            bodies: BodyThread::default(),
            metrics,
        };
        (host, config)
    }
}

impl AgentRunner for InlineRunner {
    type Error = RunFailure;
    type Start = Run;
}

impl<T: RunEnd<Output: DeserializeOwned + Send + 'static>> RunsTo<T> for InlineRunner {
    type Running<'a>
        = BoxFuture<'a, Result<T, RunFailure>>
    where
        T: 'a;

    fn run_to<'a>(&'a self, agent: &'a AgentDef, run: Run, outputs: Outputs) -> Self::Running<'a>
    where
        T: 'a,
    {
        async move {
            let (runner, agent, observer) = (self.clone(), agent.clone(), self.observer(&run, None));
            let ended = on_a_thread(move |cancelled| async move {
                let (host, config) = runner.host(Uuid::new_v4().to_string(), cancelled, observer);
                run_agents(&host, &agent, &config, run, outputs).await
            });
            T::of(ended.await?)
        }
        .boxed()
    }
}

impl std::fmt::Debug for InlineRunner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InlineRunner")
            .field("resources", &self.resources)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Runs the future of a loop, which is not `Send`, on a thread for runs. The future that is
/// returned is `Send`: it only waits for the result.
///
/// # Errors
/// The failure of the run.
pub(crate) async fn on_a_thread<T, F>(
    start: impl FnOnce(CancellationToken) -> F + Send + 'static,
) -> Result<T, RunFailure>
where
    T: Send + 'static,
    F: Future<Output = Result<T, RunFailure>>,
{
    let ended = run_on_run_thread(start).await;
    ended.unwrap_or_else(|| Err(RunError::Cancelled { agent: String::new(), turn: 0 }.into()))
}
