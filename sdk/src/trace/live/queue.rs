//! The queue of what is to be sent, and the task that sends it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use temporalio_client::{Client, NamespacedClient, grpc::WorkflowService};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::DescribeWorkflowExecutionRequest,
};
use tokio::{
    sync::{Notify, Semaphore, mpsc},
    time::{Instant, sleep, timeout},
};

use super::runs::SentRuns;
use crate::{
    client::transcript::{End, Transcript, TranscriptError},
    trace::{
        attributes::captures_content,
        history::{Part, is_whole, spans},
        otlp::Otlp,
        span::Span,
    },
};

/// Most spans and ended executions that wait to be sent.
const QUEUED: usize = 10_000;

/// Most spans of one request.
const BATCH: usize = 512;

/// Time for which spans are collected before they are sent.
const INTERVAL: Duration = Duration::from_millis(500);

/// Most histories that are read at the same time.
const READERS: usize = 8;

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

/// Time for which the end of a run waits for the end of its execution, which sends the run, too.
const RUN_PAUSE: Duration = Duration::from_secs(1);

/// The spans and ended executions that wait to be sent.
pub(in crate::trace) struct Queue {
    jobs: mpsc::Sender<Job>,
    /// Number of jobs that are not done.
    open: AtomicUsize,
    done: Notify,
    lost: AtomicU64,
    /// The collectors for runs that name one.
    collectors: Mutex<BTreeMap<String, Otlp>>,
    pub(in crate::trace) is_captured: bool,
    /// `true` if executions that end are sent.
    pub(super) reads_histories: bool,
}

/// A part of a trace that is to be sent.
pub(in crate::trace) enum Job {
    /// A span to send.
    Span(Box<Span>),
    /// An execution that has ended, whose spans are read from its history.
    Ended { workflow_id: String, run_id: String, extent: Extent },
    /// Outermost runs that have ended. Their spans are read from the history of their execution, if that
    /// goes on.
    RunsEnded { workflow_id: String, run_id: String, sent: Arc<SentRuns> },
}

/// The part of a workflow that has ended.
#[derive(Debug)]
pub(in crate::trace) enum Extent {
    /// The execution, without the attempts at activities, which their workers send, and without the
    /// runs that were sent when they ended.
    Execution { sent: Arc<SentRuns> },
    /// All executions up to this one, with the attempts that history records.
    Workflow,
}

impl Queue {
    /// Creates a queue, and the task that sends it to this collector.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub(super) fn start(client: Option<Client>, otlp: Otlp) -> Arc<Self> {
        let (jobs, queue) = mpsc::channel(QUEUED);
        let (open, done, lost) = (AtomicUsize::new(0), Notify::new(), AtomicU64::new(0));
        let shared = Arc::new(Self {
            jobs,
            open,
            done,
            lost,
            collectors: Mutex::default(),
            is_captured: captures_content(),
            reads_histories: client.is_some(),
        });
        // The task ends with the last sender.
        tokio::spawn(send(queue, client, otlp, Arc::downgrade(&shared)));
        shared
    }

    /// Adds a collector for runs that name it.
    pub(super) fn add_collector(&self, name: String, otlp: Otlp) {
        self.collectors.lock().unwrap_or_else(PoisonError::into_inner).insert(name, otlp);
    }

    /// Waits until everything so far is sent.
    pub(super) async fn empty(&self) {
        loop {
            let done = self.done.notified();
            if self.open.load(Ordering::Acquire) == 0 {
                return;
            }
            done.await;
        }
    }

    /// Waits until there is room for more, if much waits.
    pub(super) async fn room(&self) {
        if self.open.load(Ordering::Acquire) >= QUEUED / 2 {
            self.empty().await;
        }
    }

    /// Returns the number of spans that were lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Counts lost spans; returns the number of all of them.
    fn lose(&self, spans: usize) -> u64 {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed) + spans as u64
    }

    /// Adds a job, unless the queue is full.
    pub(in crate::trace) fn add(&self, job: Job) {
        let is_full = self.open.fetch_add(1, Ordering::AcqRel) >= QUEUED;
        if is_full || self.jobs.try_send(job).is_err() {
            self.lose(1);
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
async fn send(mut queue: mpsc::Receiver<Job>, client: Option<Client>, otlp: Otlp, shared: Weak<Queue>) {
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
        let mut read = 0;
        for job in jobs {
            match job {
                Job::Span(span) => batch.push(*span),
                of_history => {
                    read += 1;
                    let reader = Reader { client: client.clone(), readers: Arc::clone(&readers) };
                    let (otlp, shared) = (otlp.clone(), Arc::clone(&shared));
                    tokio::spawn(async move {
                        reader.send(of_history, &otlp, &shared).await;
                        shared.finished(1);
                    });
                }
            }
        }
        deliver(&otlp, &shared, batch).await;
        shared.finished(count - read);
        last_sent = Some(Instant::now());
    }
}

/// Sends spans, each to its collector. Those that are not taken are lost.
async fn deliver(own: &Otlp, shared: &Queue, spans: Vec<Span>) {
    for RejectedSpans { collector, spans, error } in export(own, shared, spans).await {
        let lost = shared.lose(spans);
        tracing::warn!(error, collector, lost, "spans were lost; runs are not affected");
    }
}

/// Spans that a collector has not taken.
struct RejectedSpans {
    collector: String,
    /// Number of the spans.
    spans: usize,
    error: String,
}

/// Sends spans, each to its collector; returns those that were not taken.
async fn export(own: &Otlp, shared: &Queue, spans: Vec<Span>) -> Vec<RejectedSpans> {
    let mut by_collector: BTreeMap<Option<String>, Vec<Span>> = BTreeMap::new();
    for span in spans {
        by_collector.entry(span.collector.clone()).or_default().push(span);
    }
    let mut refused = Vec::new();
    for (name, spans) in by_collector {
        let count = spans.len();
        let named = |name: &String| shared.collectors.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        let otlp = match &name {
            None => Some(own.clone()),
            Some(name) => named(name),
        };
        let failure = match otlp {
            Some(otlp) => otlp.export(spans).await.err().map(|error| error.to_string()),
            None => Some("the worker has no collector of this name: Tracing::collector".to_owned()),
        };
        if let Some(error) = failure {
            let collector = name.unwrap_or_else(|| "own".to_owned());
            refused.push(RejectedSpans { collector, spans: count, error });
        }
    }
    refused
}

/// The reason for which an execution has no spans.
#[derive(Debug, thiserror::Error)]
enum Unread {
    #[error("its history has no end yet")]
    NoEnd,
    #[error(transparent)]
    Failed(#[from] TranscriptError),
}

/// The reader of histories for one job.
struct Reader {
    client: Option<Client>,
    readers: Arc<Semaphore>,
}

impl Reader {
    /// Reads the spans of a job from history, and sends them.
    async fn send(&self, job: Job, otlp: &Otlp, shared: &Queue) {
        let Some(client) = &self.client else { return };
        match job {
            Job::Span(span) => deliver(otlp, shared, vec![*span]).await,
            Job::Ended { workflow_id, run_id, extent } => {
                match self.spans_at_end(client, &workflow_id, &run_id, &extent).await {
                    Ok(spans) => deliver(otlp, shared, spans).await,
                    Err(reason) => {
                        let lost = shared.lose(1);
                        tracing::warn!(%reason, workflow_id, run_id, lost, "the spans of an execution were not sent");
                    }
                }
            }
            Job::RunsEnded { workflow_id, run_id, sent } => {
                if !sent.goes_on_for(RUN_PAUSE).await {
                    return;
                }
                let mut sent_runs = sent.lock().await;
                let due = sent.take_due();
                if let Some(spans) = self.spans_of_runs(client, &workflow_id, &run_id, &due, &sent).await {
                    let refused = export(otlp, shared, spans).await;
                    // What is not taken now is sent again at the end of the execution.
                    if refused.is_empty() {
                        sent_runs.extend(due);
                    }
                    for RejectedSpans { collector, error, .. } in refused {
                        tracing::debug!(error, collector, workflow_id, "the spans of runs were not sent yet");
                    }
                }
            }
        }
    }

    async fn read(&self, client: &Client, workflow_id: &str, run_id: &str) -> Result<Transcript, TranscriptError> {
        let _one = self.readers.acquire().await;
        Transcript::of_workflow(client, workflow_id, Some(run_id)).await
    }

    /// Reads the spans of an execution, or of its workflow, once its history has its end.
    async fn spans_at_end(
        &self,
        client: &Client,
        workflow_id: &str,
        run_id: &str,
        extent: &Extent,
    ) -> Result<Vec<Span>, Unread> {
        let transcript = ended(|| self.read(client, workflow_id, run_id)).await?;
        let Extent::Execution { sent } = extent else {
            let _one = self.readers.acquire().await;
            let chain = Transcript::of_chain(client, workflow_id, Some(run_id)).await?;
            return Ok(spans(&chain, Part::Whole));
        };
        let is_first = transcript.first_run_id == transcript.run_id;
        let goes_on = matches!(transcript.end, End::ContinuedAsNew { .. });
        // The earlier executions of a long chat are not read again at each end.
        let began =
            if is_first || goes_on { None } else { start_of(client, workflow_id, &transcript.first_run_id).await };
        let sent = sent.lock().await;
        Ok(spans(&[transcript], Part::End { began, sent: &sent }))
    }

    /// Reads the spans of outermost runs, once the history has all of them; `None` if the execution ends
    /// first, or if this takes too long: the end of the execution then sends them.
    async fn spans_of_runs(
        &self,
        client: &Client,
        workflow_id: &str,
        run_id: &str,
        runs: &BTreeSet<String>,
        sent: &SentRuns,
    ) -> Option<Vec<Span>> {
        for pause in LOOKS {
            if sent.has_ended() {
                return None;
            }
            match self.read(client, workflow_id, run_id).await {
                Ok(transcript) if runs.iter().all(|run| is_whole(&transcript, run)) => {
                    let transcript = [transcript];
                    return Some(runs.iter().flat_map(|run| spans(&transcript, Part::Run(run))).collect());
                }
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, workflow_id, "the spans of runs cannot be read yet"),
            }
            if !sent.goes_on_for(pause).await {
                return None;
            }
        }
        None
    }
}

/// Reads a transcript until it has its end.
///
/// # Errors
/// The error of the last time.
async fn ended<F>(read: impl Fn() -> F) -> Result<Transcript, Unread>
where
    F: Future<Output = Result<Transcript, TranscriptError>>,
{
    let mut last = Unread::NoEnd;
    for pause in LOOKS {
        sleep(pause).await;
        last = match read().await {
            Ok(transcript) if transcript.end != End::Running => return Ok(transcript),
            Ok(_) => Unread::NoEnd,
            Err(error) => error.into(),
        };
        tracing::debug!(%last, "the history of a trace cannot be read yet");
    }
    Err(last)
}

/// Returns the time at which an execution started; `None` if the server no longer has it.
async fn start_of(client: &Client, workflow_id: &str, run_id: &str) -> Option<SystemTime> {
    let execution = WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id: run_id.to_owned() };
    let request = DescribeWorkflowExecutionRequest { namespace: client.namespace(), execution: Some(execution) };
    let mut client = client.clone();
    let described = WorkflowService::describe_workflow_execution(&mut client, tonic::Request::new(request)).await;
    let info = described.ok()?.into_inner().workflow_execution_info?;
    SystemTime::try_from(info.start_time?).ok()
}

#[cfg(test)]
mod tests;
