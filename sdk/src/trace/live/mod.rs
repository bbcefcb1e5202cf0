//! Live traces of the workflows and activities of a worker.
//!
//! # Design
//! **Attempts leave when they end; everything above them later,** read from history: the workflow's
//! code draws no ids and makes no spans, so a replay cannot send one twice.
//! [`export_workflow`](super::export_workflow) sends the spans that a worker lost when it died.
//!
//! **The spans of a run are sent when the run ends, even if the workflow continues,** as a chat does for
//! weeks. One second after the end of a run, its spans are read from history, and so are the spans of runs
//! that have ended meanwhile; the end of the execution sends the rest. This costs one read of the execution's
//! history for each second in which a run has ended, and a few more while its end is not in history yet.
//! Chats bound it by continuing as new. A workflow that ends within a second of its run costs no
//! additional read.
//!
//! **A collector never slows a run.** Spans wait in a queue of bounded length for the task that
//! sends them. What does not fit, or is not taken, is counted and lost.
//!
//! A workflow that was reset, or is retried by its own policy, has attempts in a trace of their
//! own, unless its caller sent a trace.

mod attempt;
mod opened;
mod queue;
mod runs;
mod sent;
mod workflow;

use std::{fmt, sync::Arc, time::Duration};

use futures::FutureExt;
use opentelemetry::trace::FutureExt as _;
use temporalio_client::Client;
use tokio::time::timeout;

pub(super) use self::queue::{Job, Queue};
use self::{
    attempt::{Attempt, AttemptKind},
    queue::Extent,
    workflow::TracedWorkflow,
};
use super::{
    events,
    ids::Execution,
    otlp::{Otlp, OtlpError},
};
use crate::{activity::registration::Body, events::RunTracer};

/// Longest time of a flush.
const FLUSH: Duration = Duration::from_secs(15);

/// Sends the traces of a worker's runs to a collector while they happen.
///
/// ```no_run
/// use temporal_agents::{AgentsPlugin, Resources, trace::Tracing};
/// # async fn example(
/// #     client: temporalio_client::Client, resources: Resources,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
///
/// // Does nothing unless OTEL_EXPORTER_OTLP_ENDPOINT is set.
/// let tracing = Tracing::from_env(&client)?;
/// let plugin = AgentsPlugin::new(resources).tracing(&tracing);
/// // .. runs the worker ..
/// tracing.flush().await;
/// # let _ = plugin;
/// # Ok(())
/// # }
/// ```
///
/// The span of an attempt is sent when the attempt ends. The spans of agents and calls are sent a second
/// after their run has ended, and the span of the workflow when its execution ends. Spans that a tool's own code
/// opens with `opentelemetry` are children of its attempt, and leave by the application's provider,
/// which stays as it is. The context of the caller that started the workflow, in the header
/// `_tracer-data`, is the parent; it goes on to activities, child workflows and later executions.
/// Where the caller's trace is not sampled, nothing is sent.
///
/// While the worker lives, each span is delivered at least once. After a crash, spans may be missing.
/// After a crash, or when a workflow was evicted from the cache, a span may be sent again with the same
/// id. [`export_workflow`](super::export_workflow) sends all spans. Runs outside of workflows have the
/// spans of [`tracer`](Self::tracer).
#[derive(Clone)]
pub struct Tracing(Option<Arc<Queue>>);

impl Tracing {
    /// Creates a sender to this collector; `client` reads the histories of executions that end.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(client: &Client, otlp: Otlp) -> Self {
        Self(Some(Queue::start(Some(client.clone()), otlp)))
    }

    /// Creates a sender to this collector for runs outside of workflows alone: in this process, and
    /// in sessions. It sends nothing of workflows, because it cannot read their histories.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn without_workflows(otlp: Otlp) -> Self {
        Self(Some(Queue::start(None, otlp)))
    }

    /// Returns the maker of the spans of runs outside of workflows:
    /// [`InlineRunner::tracer`](crate::inline::InlineRunner::tracer).
    ///
    /// ```no_run
    /// use temporal_agents::{inline::InlineRunner, trace::{Otlp, Tracing}};
    /// # async fn example(runner: InlineRunner) -> Result<(), Box<dyn std::error::Error>> {
    ///
    /// let tracing = Tracing::without_workflows(Otlp::new("http://127.0.0.1:4318")?);
    /// let runner = runner.tracer(tracing.tracer());
    /// // .. runs agents ..
    /// tracing.flush().await;
    /// # let _ = runner;
    /// # Ok(())
    /// # }
    /// ```
    pub fn tracer(&self) -> RunTracer {
        match &self.0 {
            Some(queue) => events::tracer(Arc::clone(queue)),
            None => RunTracer::new(|_| None),
        }
    }

    /// Creates a sender to the collector that `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` names; without them, or with `OTEL_SDK_DISABLED=true` or
    /// `OTEL_TRACES_EXPORTER=none`, one that sends nothing.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`], also if `OTEL_EXPORTER_OTLP_PROTOCOL` is neither `http/protobuf`,
    /// the default, nor `grpc`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn from_env(client: &Client) -> Result<Self, OtlpError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Ok(match Otlp::of_settings(set)? {
            Some(otlp) => Self::new(client, otlp),
            None => Self(None),
        })
    }

    /// Adds a collector for the runs that name it: `RunConfig::builder().tracing(..)`. Its address
    /// and its keys stay on the worker. A second one of the same name replaces the first.
    ///
    /// ```no_run
    /// use temporal_agents::{RunConfig, trace::{Otlp, Tracing}, wire::TracingConfig};
    /// # fn example(
    /// #     client: &temporalio_client::Client, key: &str,
    /// # ) -> Result<(), Box<dyn std::error::Error>> {
    ///
    /// let team_a = Otlp::with_headers("https://collector.example", [("authorization", key)])?;
    /// let tracing = Tracing::from_env(client)?.collector("team-a", team_a);
    /// let config = RunConfig::builder().tracing(TracingConfig::to_collector("team-a")).build();
    /// # let _ = (tracing, config);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Does nothing for a sender that sends nothing.
    #[must_use]
    pub fn collector(self, name: impl Into<String>, otlp: Otlp) -> Self {
        if let Some(queue) = &self.0 {
            queue.add_collector(name.into(), otlp);
        }
        self
    }

    /// Sends the trace of a workflow that has ended with this execution, from its history. While
    /// many wait, it waits also.
    #[cfg_attr(not(any(feature = "postgres", feature = "sqlite")), expect(dead_code, reason = "projectors call it"))]
    pub(crate) async fn of_ended(&self, workflow_id: &str, run_id: &str) {
        if let Some(queue) = self.0.as_ref().filter(|queue| queue.reads_histories) {
            queue.room().await;
            let (workflow_id, run_id) = (workflow_id.to_owned(), run_id.to_owned());
            queue.add(Job::Ended { workflow_id, run_id, extent: Extent::Workflow });
        }
    }

    /// Waits until everything so far is sent, for 15 s at most.
    pub async fn flush(&self) {
        if let Some(queue) = &self.0 {
            let _ = timeout(FLUSH, queue.empty()).await;
        }
    }

    /// Returns the number of spans that were lost: the collector did not take them, or the queue
    /// was full. An execution whose history could not be read to its end counts as one.
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |queue| queue.lost())
    }

    /// Returns the interceptor of a workflow; `None` if nothing is sent.
    pub(crate) fn interceptor(&self) -> Option<impl Fn() -> TracedWorkflow + Clone + Send + Sync + 'static> {
        let queue = Arc::clone(self.0.as_ref().filter(|queue| queue.reads_histories)?);
        Some(move || TracedWorkflow::new(&queue))
    }

    /// Returns the body of an activity, with a span for each attempt at a call.
    pub(crate) fn around(&self, activity_type: &str, body: Body) -> Body {
        let Some(queue) = &self.0 else { return body };
        let Some(kind) = AttemptKind::of(activity_type) else { return body };
        let queue = Arc::clone(queue);
        Arc::new(move |ctx, request| {
            let Some(attempt) = Attempt::begin(&queue, &ctx, &request, kind.clone()) else {
                return body(ctx, request);
            };
            let running = body(ctx, request).with_context(attempt.context());
            async move {
                let outcome = running.await;
                attempt.end(&outcome);
                outcome
            }
            .boxed()
        })
    }
}

/// Returns the ids of an execution. The id of the first run is known to history alone; that of a
/// workflow that has not continued as new is its own.
fn execution_of<'i>(workflow_id: &'i str, run_id: &'i str) -> Execution<'i> {
    Execution { workflow_id, run_id, first_run_id: run_id }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").field("sends", &self.0.is_some()).field("lost", &self.lost()).finish()
    }
}
