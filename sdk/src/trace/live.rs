//! Live traces of the workflows and activities of a worker.
//!
//! # Design
//! **Attempts leave when they end; everything above them at the end of its execution,** read from
//! history: the workflow's code draws no ids and makes no spans, so a replay cannot send one twice.
//! What a worker that dies has not sent, [`export_workflow`](super::export_workflow) sends.
//!
//! **A collector never slows a run.** Spans wait in a queue of bounded length for the task that
//! sends them. What does not fit, or is not taken, is counted and lost.
//!
//! A workflow that was reset, or is retried by its own policy, has attempts in a trace of their
//! own, unless its caller sent a trace.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures::FutureExt;
use opentelemetry::{
    Context,
    trace::{FutureExt as _, SpanContext, TraceContextExt, TraceFlags, TraceState},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use temporalio_client::Client;
use temporalio_common::protos::temporal::api::common::v1::Payload;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_workflow::{
    WorkflowTermination,
    workflow_interceptors::{
        CancellableWorkflowOutboundFuture, ContinueAsNewInput, ContinueAsNewResult, ExecuteWorkflowInput,
        ExecuteWorkflowResult, ScheduleActivityInput, ScheduleActivityResult, ScheduleLocalActivityInput,
        StartChildWorkflowInput, StartChildWorkflowResult, SyncWorkflowInterceptorContext, WorkflowInterceptor,
        WorkflowInterceptorContext, WorkflowInterceptorFuture, WorkflowNext,
    },
};
use tokio::{
    sync::{Notify, Semaphore, mpsc},
    time::{Instant, sleep, timeout},
};

use super::{
    attributes::{self, captures_content, content},
    history::{Part, spans},
    ids::{Caller, Execution, SpanId},
    otlp::{Otlp, OtlpError},
    span::Span,
};
use crate::{
    activity::{
        message::{Reply, Request},
        registration::Body,
    },
    client::transcript::{End, Transcript},
    events::Place,
    tool::ToolCallKey,
    wire::{MODEL_ACTIVITY, RecordedFailure, mcp_call, remote_call, tool_call::TOOL_PREFIX},
};

/// Header in which the SDKs of Temporal send the context of a trace.
const TRACER_DATA: &str = "_tracer-data";

/// Most spans and ended executions that wait to be sent.
const QUEUED: usize = 10_000;

/// Most spans of one request.
const BATCH: usize = 512;

/// Time for which spans are collected before they are sent.
const INTERVAL: Duration = Duration::from_millis(500);

/// Most histories that are read at the same time.
const READERS: usize = 4;

/// Times at which the history of an ended execution is read, until it has its end.
const LOOKS: [Duration; 8] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

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
/// The spans of model calls and tools are sent when an attempt ends; those of agents and the
/// workflow when its execution ends. Spans that a tool's own code opens with `opentelemetry` are
/// children of its attempt, and leave by the application's provider, which stays as it is. The
/// context of the caller that started the workflow, in the header `_tracer-data`, is the parent; it
/// goes on to activities, child workflows and later executions. Where the caller's trace is not
/// sampled, nothing is sent.
///
/// Delivery is at least once for a worker that lives: after a crash a span may be missing, or come
/// again with the same id; [`export_workflow`](super::export_workflow) sends all of them. Runs of
/// `InlineRunner` and sessions in activities have no live spans of their own.
#[derive(Clone)]
pub struct Tracing(Option<Arc<Shared>>);

struct Shared {
    jobs: mpsc::Sender<Job>,
    /// Number of jobs that are not done.
    open: AtomicUsize,
    done: Notify,
    lost: AtomicU64,
    is_captured: bool,
}

enum Job {
    /// A span to send.
    Span(Box<Span>),
    /// An execution that has ended, whose spans are read from its history.
    Ended { workflow_id: String, run_id: String },
}

impl Tracing {
    /// Creates a sender to this collector; `client` reads the histories of executions that end.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(client: &Client, otlp: Otlp) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUED);
        let (open, done, lost) = (AtomicUsize::new(0), Notify::new(), AtomicU64::new(0));
        let shared = Arc::new(Shared { jobs, open, done, lost, is_captured: captures_content() });
        // The task ends with the last sender.
        tokio::spawn(send(queue, client.clone(), otlp, Arc::downgrade(&shared)));
        Self(Some(shared))
    }

    /// Creates a sender to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names; without it, or
    /// with `OTEL_SDK_DISABLED=true`, one that sends nothing.
    ///
    /// # Errors
    /// [`OtlpError::NotSetUp`].
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn from_env(client: &Client) -> Result<Self, OtlpError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        match set("OTEL_EXPORTER_OTLP_ENDPOINT") {
            Some(endpoint) if set("OTEL_SDK_DISABLED").is_none_or(|value| value != "true") => {
                Ok(Self::new(client, Otlp::new(&endpoint)?))
            }
            _ => Ok(Self(None)),
        }
    }

    /// Waits until everything so far is sent, for 15 s at most.
    pub async fn flush(&self) {
        let Some(shared) = &self.0 else { return };
        let sent = async {
            loop {
                let done = shared.done.notified();
                if shared.open.load(Ordering::Acquire) == 0 {
                    break;
                }
                done.await;
            }
        };
        let _ = timeout(Duration::from_secs(15), sent).await;
    }

    /// Returns the number of spans that were lost: the collector did not take them, or the queue
    /// was full.
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |shared| shared.lost.load(Ordering::Relaxed))
    }

    /// Returns the interceptor of a workflow; `None` if nothing is sent.
    pub(crate) fn interceptor(&self) -> Option<impl Fn() -> TracedWorkflow + Clone + Send + Sync + 'static> {
        let shared = Arc::clone(self.0.as_ref()?);
        Some(move || TracedWorkflow {
            shared: Arc::clone(&shared),
            caller: RefCell::new(None),
            has_runs: Cell::new(false),
        })
    }

    /// Returns the body of an activity, with a span for each attempt at a call.
    pub(crate) fn around(&self, activity_type: &str, body: Body) -> Body {
        let Some(shared) = &self.0 else { return body };
        let is_model = activity_type == MODEL_ACTIVITY;
        let calls =
            |prefix: &str, operation: &str| activity_type.starts_with(prefix) && activity_type.ends_with(operation);
        let is_tool = activity_type.starts_with(TOOL_PREFIX)
            || calls(mcp_call::MCP_ACTIVITY, mcp_call::MCP_CALL_TOOL)
            || calls(remote_call::REMOTE_ACTIVITY, remote_call::REMOTE_CALL_TOOL);
        if !is_model && !is_tool {
            return body;
        }
        let shared = Arc::clone(shared);
        Arc::new(move |ctx, request| {
            let Some(attempt) = Attempt::begin(&shared, &ctx, &request, is_model) else {
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

impl Shared {
    /// Adds a job, unless the queue is full.
    fn add(&self, job: Job) {
        self.open.fetch_add(1, Ordering::AcqRel);
        if self.jobs.try_send(job).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            self.finished(1);
        }
    }

    fn finished(&self, jobs: usize) {
        if self.open.fetch_sub(jobs, Ordering::AcqRel) == jobs {
            self.done.notify_waiters();
        }
    }
}

/// Sends the spans of the queue in batches, until the last sender is gone.
async fn send(mut queue: mpsc::Receiver<Job>, client: Client, otlp: Otlp, shared: Weak<Shared>) {
    let readers = Arc::new(Semaphore::new(READERS));
    let mut last_sent: Option<Instant> = None;
    while let Some(first) = queue.recv().await {
        let mut jobs = vec![first];
        // After a pause a span is sent at once; otherwise more are collected for a while.
        let collecting = last_sent.map_or(Duration::ZERO, |sent| INTERVAL.saturating_sub(sent.elapsed()));
        let _ = timeout(collecting, async {
            while jobs.len() < BATCH {
                match queue.recv().await {
                    Some(job) => jobs.push(job),
                    None => break,
                }
            }
        })
        .await;
        let Some(shared) = shared.upgrade() else { return };
        let (mut batch, count) = (Vec::new(), jobs.len());
        let mut ended = 0;
        for job in jobs {
            match job {
                Job::Span(span) => batch.push(*span),
                Job::Ended { workflow_id, run_id } => {
                    ended += 1;
                    let (client, otlp, shared) = (client.clone(), otlp.clone(), Arc::clone(&shared));
                    let readers = Arc::clone(&readers);
                    tokio::spawn(async move {
                        let _one = readers.acquire().await;
                        let found = spans_at_end(&client, &workflow_id, &run_id).await;
                        deliver(&otlp, &shared, found.unwrap_or_default()).await;
                        shared.finished(1);
                    });
                }
            }
        }
        deliver(&otlp, &shared, batch).await;
        shared.finished(count - ended);
        last_sent = Some(Instant::now());
    }
}

async fn deliver(otlp: &Otlp, shared: &Shared, spans: Vec<Span>) {
    let count = spans.len();
    if count == 0 {
        return;
    }
    if let Err(error) = otlp.export(spans).await {
        let lost = shared.lost.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        tracing::warn!(%error, lost, "spans were lost; runs are not affected");
    }
}

/// Reads the spans of an execution from its history, once that has its end.
async fn spans_at_end(client: &Client, workflow_id: &str, run_id: &str) -> Option<Vec<Span>> {
    for pause in LOOKS {
        sleep(pause).await;
        match Transcript::of_chain(client, workflow_id, Some(run_id)).await {
            Ok(chain) if chain.last().is_some_and(|last| last.end != End::Running) => {
                return Some(spans(&chain, Part::EndOf(run_id)));
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, workflow_id, run_id, "the history of a trace cannot be read yet"),
        }
    }
    tracing::warn!(workflow_id, run_id, "the spans of an execution were not sent: its history has no end yet");
    None
}

/// Sends the context of a trace on, and reports the end of an execution.
pub(crate) struct TracedWorkflow {
    shared: Arc<Shared>,
    caller: RefCell<Option<Caller>>,
    /// `true` once agents run in the workflow.
    has_runs: Cell<bool>,
}

impl TracedWorkflow {
    /// Returns the header of what an effect of this id schedules.
    fn header(&self, ctx: &WorkflowInterceptorContext, id: &str) -> Option<Payload> {
        Place::of(id)?;
        self.has_runs.set(true);
        let caller = (*self.caller.borrow())?;
        let execution = execution_of(ctx.workflow_id(), ctx.run_id());
        Some(payload(Caller { span: execution.call(id), ..caller }))
    }
}

impl WorkflowInterceptor for TracedWorkflow {
    fn execute<'a>(
        &'a self,
        ctx: WorkflowInterceptorContext,
        input: ExecuteWorkflowInput,
        next: WorkflowNext<'a, ExecuteWorkflowInput, WorkflowInterceptorFuture<'a, ExecuteWorkflowResult>>,
    ) -> WorkflowInterceptorFuture<'a, ExecuteWorkflowResult> {
        let (workflow_id, run_id) = (ctx.workflow_id().to_owned(), ctx.run_id().to_owned());
        let execution = execution_of(&workflow_id, &run_id);
        let sent = caller_in(input.headers());
        let own = Caller { trace: execution.trace(), span: execution.workflow(), is_sampled: true };
        *self.caller.borrow_mut() = Some(sent.unwrap_or(own));
        let running = next.run(input);
        WorkflowInterceptorFuture::new(async move {
            let ended = running.await;
            let is_evicted = matches!(ended, Err(WorkflowTermination::Evicted));
            let is_sampled = self.caller.borrow().is_some_and(|caller| caller.is_sampled);
            if self.has_runs.get() && is_sampled && !is_evicted && !ctx.is_replaying_history_events() {
                self.shared.add(Job::Ended { workflow_id, run_id });
            }
            ended
        })
    }

    fn schedule_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleActivityInput,
        next: WorkflowNext<'static, ScheduleActivityInput, CancellableWorkflowOutboundFuture<ScheduleActivityResult>>,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        let id = input.options().activity_id.clone().unwrap_or_default();
        if let Some(header) = self.header(&ctx, &id) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
        }
        next.run(input)
    }

    fn schedule_local_activity(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: ScheduleLocalActivityInput,
        next: WorkflowNext<
            'static,
            ScheduleLocalActivityInput,
            CancellableWorkflowOutboundFuture<ScheduleActivityResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<ScheduleActivityResult> {
        let id = input.options().activity_id.clone().unwrap_or_default();
        if let Some(header) = self.header(&ctx, &id) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
        }
        next.run(input)
    }

    fn start_child_workflow(
        &self,
        ctx: WorkflowInterceptorContext,
        mut input: StartChildWorkflowInput,
        next: WorkflowNext<
            'static,
            StartChildWorkflowInput,
            CancellableWorkflowOutboundFuture<StartChildWorkflowResult>,
        >,
    ) -> CancellableWorkflowOutboundFuture<StartChildWorkflowResult> {
        let effect = ctx.context_value::<ToolCallKey>().map(|call| call.effect.clone());
        if let Some(header) = effect.and_then(|effect| self.header(&ctx, &effect)) {
            input.headers_mut().insert(TRACER_DATA.to_owned(), header);
        }
        next.run(input)
    }

    fn continue_as_new(
        &self,
        _ctx: SyncWorkflowInterceptorContext,
        mut input: ContinueAsNewInput,
        next: WorkflowNext<'static, ContinueAsNewInput, ContinueAsNewResult>,
    ) -> ContinueAsNewResult {
        if let Some(caller) = *self.caller.borrow() {
            input.headers_mut().entry(TRACER_DATA.to_owned()).or_insert_with(|| payload(caller));
        }
        next.run(input)
    }
}

/// Returns the ids of an execution. The id of the first run is known to history alone; that of a
/// workflow that has not continued as new is its own.
fn execution_of<'i>(workflow_id: &'i str, run_id: &'i str) -> Execution<'i> {
    Execution { workflow_id, run_id, first_run_id: run_id }
}

/// Returns a context as the SDKs of Temporal send it: the fields of W3C Trace Context as JSON.
fn payload(caller: Caller) -> Payload {
    let fields = json!({"traceparent": caller.to_traceparent()});
    let encoding = [("encoding".to_owned(), b"json/plain".to_vec())];
    Payload { metadata: encoding.into_iter().collect(), data: fields.to_string().into_bytes(), ..Payload::default() }
}

fn caller_in(headers: &HashMap<String, Payload>) -> Option<Caller> {
    let fields: HashMap<String, String> = serde_json::from_slice(&headers.get(TRACER_DATA)?.data).ok()?;
    Caller::of_traceparent(fields.get("traceparent")?)
}

/// An attempt at a call.
struct Attempt {
    shared: Arc<Shared>,
    caller: Caller,
    id: SpanId,
    workflow_id: String,
    run_id: String,
    activity_id: String,
    number: u32,
    start: SystemTime,
    names: Names,
    is_model: bool,
}

/// The members of a request that a span needs.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Names {
    model: String,
    tool: String,
    call_id: String,
    arguments: Map<String, Value>,
}

impl Attempt {
    /// Begins an attempt; `None` if it belongs to no trace.
    fn begin(shared: &Arc<Shared>, ctx: &ActivityContext, request: &Request, is_model: bool) -> Option<Self> {
        let caller = caller_in(ctx.headers())?;
        let info = ctx.info();
        let (workflow_id, run_id) = (info.workflow_id.clone()?, info.workflow_run_id.clone()?);
        let names = match request {
            Request::Text(text) => serde_json::from_slice(text).ok()?,
            Request::Value(value) => Names::deserialize(value).ok()?,
        };
        Some(Self {
            shared: Arc::clone(shared),
            caller,
            id: execution_of(&workflow_id, &run_id).attempt(&info.activity_id, info.attempt),
            workflow_id,
            run_id,
            activity_id: info.activity_id.clone(),
            number: info.attempt,
            start: SystemTime::now(),
            names,
            is_model,
        })
    }

    /// Returns the context in which the attempt runs: spans of its code are its children.
    fn context(&self) -> Context {
        let flags = if self.caller.is_sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
        let (trace, span) = (self.caller.trace.0.into(), self.id.0.into());
        Context::current().with_remote_span_context(SpanContext::new(
            opentelemetry::TraceId::from_bytes(trace),
            opentelemetry::SpanId::from_bytes(span),
            flags,
            true,
            TraceState::default(),
        ))
    }

    fn end(self, outcome: &Result<Reply, ActivityError>) {
        let Self { shared, caller, id, workflow_id, run_id, activity_id, number, start, names, is_model } = self;
        if !caller.is_sampled || matches!(outcome, Err(ActivityError::WillCompleteAsync)) {
            return;
        }
        let execution = execution_of(&workflow_id, &run_id);
        let described = if is_model {
            let described = attributes::chat(&execution, &activity_id, number, &names.model);
            match outcome {
                Ok(Reply::Model(reply)) => {
                    let response = &reply.response;
                    let ends = (response.response_id.as_deref(), response.incomplete.as_deref());
                    attributes::answered(described, &response.output, ends, &response.usage)
                }
                _ => described,
            }
        } else {
            attributes::tool_attempt(&execution, &activity_id, number, &names.tool, &names.call_id)
        };
        let failure = match outcome {
            Err(ActivityError::Application(failure)) => {
                let name = failure.type_name().unwrap_or("Application");
                Some(RecordedFailure::new(name, failure.source_error().to_string()))
            }
            _ => None,
        };
        let mut span = Span::new(caller.trace, id, Some(caller.span), (start, SystemTime::now()), described)
            .failed(failure.as_ref(), shared.is_captured);
        if shared.is_captured {
            match outcome {
                Ok(Reply::Model(reply)) => {
                    let output = reply.response.output.iter().map(crate::wire::Item::to_value).collect::<Value>();
                    content(&mut span, true, "gen_ai.output.messages", Some(&output));
                }
                Ok(Reply::Tool(reply)) => {
                    content(&mut span, true, "gen_ai.tool.call.arguments", Some(&Value::Object(names.arguments)));
                    content(&mut span, true, "gen_ai.tool.call.result", Some(&reply.output.clone().into_value()));
                }
                _ => {}
            }
        }
        shared.add(Job::Span(Box::new(span)));
    }
}

impl fmt::Debug for Tracing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracing").field("sends", &self.0.is_some()).field("lost", &self.lost()).finish()
    }
}
