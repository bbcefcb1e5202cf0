//! Metrics of a worker's runs: of the conventions for generative AI, and of this library.
//!
//! | file | content |
//! |---|---|
//! | `meter.rs` | names, units and attributes as the exporter takes them |
//! | `instruments.rs` | the instruments |
//! | `inference.rs` | an attempt at a model call |
//! | `execution.rs` | an attempt at a tool call |
//! | `runs.rs` | the watch of a workflow's runs |
//! | `agents.rs` | the agents that work in a run |
//! | `questions.rs` | the questions that are open |
//!
//! # Design
//! **The meter of the Temporal runtime, of which the application passes a clone.** The runtime does
//! not return its meter: neither plugin, worker, nor context of an activity has it. The application
//! creates it, so that one exporter, Prometheus or OTLP, has the metrics of both. No crate is added
//! for it, so this module needs no feature of its own.
//!
//! **Attempts are counted where they run, runs by a watch in their workflow.** The watch sees a
//! replay also, to know how a run has begun, and counts nothing then. A workflow task may run again
//! without being a replay, when the server has not taken its result: a worker remembers what it has
//! counted lately, and counts it once. After a crash in that moment, another worker counts it
//! again.
//!
//! **Runs without a workflow count their attempts alone.** Nobody else knows their tokens, costs
//! and durations. A run in the caller's process is a function call, which the caller counts, and a
//! session is an activity, which the SDK counts.
//!
//! **A run that was terminated or timed out is not among the runs.** No code of it runs then. The
//! server has metrics of its own for them, and the projection of the service has a row.
//!
//! **Nothing that a person or a model has written is an attribute.** Names of agents, tools, models
//! and types of failures are.
//!
//! # Source
//! The semantic conventions for generative AI of OpenTelemetry, `tests/conventions/metrics.json`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the worker half runs outside of workflows: it may use clock, environment and tasks"
)]

mod agents;
mod execution;
mod inference;
mod instruments;
mod meter;
mod questions;
mod runs;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use temporalio_common::telemetry::{HistogramBucketOverrides, metrics::CoreMeter};

pub(crate) use self::{execution::Execution, inference::Inference};
use self::{instruments::Instruments, meter::Meter, questions::OpenQuestions};

/// The environment variable that selects the names of metrics.
const STABILITY_OPT_IN: &str = "OTEL_SEMCONV_STABILITY_OPT_IN";

/// Most counted parts of runs that are remembered.
const REMEMBERED: usize = 10_000;

/// The metrics of the runs of a worker, in the exporter of its runtime.
///
/// ```no_run
/// use std::sync::Arc;
/// use temporal_agents::{AgentsPlugin, Resources, metrics::Metrics};
/// use temporalio_common::telemetry::{TelemetryOptions, metrics::CoreMeter};
/// use temporalio_sdk::{Runtime, runtime::RuntimeOptions};
///
/// // The meter is that of an exporter of `temporalio_common::telemetry`:
/// // `start_prometheus_metric_exporter(..)?.meter` (feature `prometheus`),
/// // or `Arc::new(build_otlp_metric_exporter(..)?)` (feature `otel`).
/// fn set_up(
///     meter: Arc<dyn CoreMeter>,
///     resources: Resources,
/// ) -> Result<(Runtime, AgentsPlugin), Box<dyn std::error::Error>> {
///     let telemetry = TelemetryOptions::builder().metrics(Arc::clone(&meter)).build();
///     let options = RuntimeOptions::builder().telemetry_options(telemetry).build()?;
///     let runtime = Runtime::from_current_tokio(options)?;
///     Ok((runtime, AgentsPlugin::new(resources).metrics(&Metrics::new(meter))))
/// }
/// ```
///
/// [`buckets`](Self::buckets) are for the exporter's options.
///
/// # What is counted
///
/// | metric | one value for each |
/// |---|---|
/// | `gen_ai.client.inference.duration` (s) | attempt at a model call |
/// | `gen_ai.client.inference.time_to_first_chunk` (s) | attempt that streamed |
/// | `gen_ai.client.inference.usage.*` | attempt: counters of tokens, by kind |
/// | `gen_ai.client.inference.operation.{input,output}_tokens` | attempt: histograms of tokens |
/// | `temporal_agents.inference.cost` | attempt with a price, by agent and currency |
/// | `gen_ai.execute_tool.duration` (s) | attempt at a tool call in an activity |
/// | `gen_ai.invoke_agent.duration` (s) | work of an agent, to its handoff or end |
/// | `gen_ai.invoke_agent.{inference_calls,tool_calls}` | the same |
/// | `gen_ai.invoke_workflow.duration` (s) | run that has ended, with its waits |
/// | `temporal_agents.runs` | run that has ended, by `temporal_agents.outcome` |
/// | `temporal_agents.questions.asked` | call that waits for a person |
/// | `temporal_agents.questions.wait` (s) | decision, with the time that it took |
/// | `temporal_agents.questions.open` | worker: questions of workflows in its cache |
/// | `temporal_agents.questions.oldest` | worker: Unix time of the oldest of these; 0 = none |
/// | `temporal_agents.gate.verdicts` | call that the gate denied, or let a person decide |
/// | `temporal_agents.turn.history` (By) | turn: content of calls and answers in history |
/// | `temporal_agents.conversations` | model request with references, by `temporal_agents.cache` |
/// | `temporal_agents.conversations.rebuilt` (By) | content read from history on a cache miss |
/// | `temporal_agents.deltas.lost` | attempt whose deltas a transport has lost |
///
/// For Prometheus, `.` in names is `_`. A run that has continued as new is counted at its end, with
/// the durations of its last execution; its agents are counted in each execution. A run that was
/// terminated or timed out is not counted: no code of it runs at its end. A workflow that waits and
/// is in no worker's cache is not among the open questions.
///
/// With [`InlineRunner::metrics`](crate::inline::InlineRunner::metrics), attempts at models and
/// tools are counted in runs without a workflow also, and in sessions in activities; runs, agents
/// and questions are not.
///
/// # Names
///
/// The names are the latest. With `gen_ai/dup` in `OTEL_SEMCONV_STABILITY_OPT_IN`, or
/// [`with_earlier_names`](Self::with_earlier_names), those of version 1.41 are recorded also, which
/// most backends read: `gen_ai.client.operation.duration`,
/// `gen_ai.client.operation.time_to_first_chunk`, `gen_ai.client.token.usage`.
#[derive(Clone)]
pub struct Metrics(Arc<Shared>);

struct Shared {
    meter: Arc<dyn CoreMeter>,
    instruments: Instruments,
    questions: Mutex<OpenQuestions>,
    counted: Mutex<Counted>,
}

/// The parts of runs that were counted lately.
#[derive(Default)]
struct Counted {
    known: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Metrics {
    /// Creates the metrics of this meter: of the exporter that the runtime of the worker also has.
    pub fn new(meter: Arc<dyn CoreMeter>) -> Self {
        let has_both = std::env::var(STABILITY_OPT_IN).is_ok_and(|value| asks_for_both(&value));
        Self::of(meter, has_both)
    }

    /// Records the metrics under the names of version 1.41 of the conventions also.
    #[must_use]
    pub fn with_earlier_names(self) -> Self {
        Self::of(Arc::clone(&self.0.meter), true)
    }

    /// Returns the buckets that the conventions recommend, for the options of the exporter.
    pub fn buckets() -> HistogramBucketOverrides {
        let mut overrides = HashMap::new();
        for (name, boundaries) in instruments::buckets() {
            overrides.insert(name.replace('.', "_"), boundaries.clone());
            overrides.insert(name.to_owned(), boundaries);
        }
        HistogramBucketOverrides { overrides }
    }

    fn of(meter: Arc<dyn CoreMeter>, has_both: bool) -> Self {
        let instruments = Instruments::new(Meter::new(Arc::clone(&meter)), has_both);
        Self(Arc::new(Shared { meter, instruments, questions: Mutex::default(), counted: Mutex::default() }))
    }

    /// Counts requests of a worker for conversations: those that its cache answered, those that it
    /// did not, and the bytes that were read from history.
    pub(crate) fn conversations(&self, hits: u64, misses: u64, bytes: u64) {
        let Instruments { meter, conversations, rebuilt, .. } = &self.0.instruments;
        for (cache, count) in [("hit", hits), ("miss", misses)] {
            if count > 0 {
                conversations.add(count, &meter.attributes(&[("temporal_agents.cache", cache)]));
            }
        }
        if bytes > 0 {
            rebuilt.add(bytes, &meter.attributes(&[]));
        }
    }

    /// Counts an attempt whose further deltas are lost.
    pub(crate) fn lost_deltas(&self) {
        let Instruments { meter, lost_deltas, .. } = &self.0.instruments;
        lost_deltas.add(1, &meter.attributes(&[]));
    }

    /// Returns `true` if the part of a run with this key was not counted before.
    fn is_new(&self, key: String) -> bool {
        let mut counted = self.0.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if !counted.known.insert(key.clone()) {
            return false;
        }
        counted.order.push_back(key);
        if counted.order.len() > REMEMBERED
            && let Some(oldest) = counted.order.pop_front()
        {
            counted.known.remove(&oldest);
        }
        true
    }

    /// Changes the open questions, and records their number and age.
    fn questions(&self, change: impl FnOnce(&mut OpenQuestions)) {
        let Instruments { meter, open, oldest, .. } = &self.0.instruments;
        let mut questions = self.0.questions.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut questions);
        let none = meter.attributes(&[]);
        open.record(questions.count(), &none);
        oldest.record(questions.oldest(), &none);
    }
}

/// Returns `true` if the value of the environment variable asks for both sets of names.
fn asks_for_both(opt_in: &str) -> bool {
    opt_in.split(',').any(|name| name.trim() == "gen_ai/dup")
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("meter", &self.0.meter).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
