//! The spans of a workflow, made of its transcripts.

mod branch;
mod places;
mod tools;
mod tree;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::SystemTime,
};

use temporal_agents_core::wire::{RecordedFailure, error_debug};
use temporalio_client::Client;
use temporalio_common::{data_converters::DataConverter, protos::temporal::api::history::v1::History};

use self::{
    branch::{Branch, is_inside, is_pending},
    places::Places,
    tree::Tree,
};
use super::{
    attributes::{self, captures_content},
    ids::{Caller, Execution},
    otlp::{Otlp, OtlpError},
    span::Span,
};
use crate::client::transcript::{End, Transcript, TranscriptError};

/// The error of a trace that cannot be read or exported.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The history cannot be read.
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    /// The collector has not taken the spans.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
}

error_debug!(
    enum TraceError {
        Transcript(source),
        Otlp(source),
    }
);

/// Exports the trace of a workflow, running or closed, with all its executions that the server
/// has; returns the number of spans. Exported twice, it is the same trace, with the same spans.
///
/// The trace is that of the caller that started the workflow, if it sent one in the header
/// `_tracer-data`, as the plugins of Temporal's SDKs do. If that trace is not sampled, nothing is
/// exported. Of a workflow that runs, what has ended is exported; spans that contain others and go
/// on end at the latest event, and have the attribute `temporal_agents.open`.
///
/// # Errors
/// [`TraceError`].
pub async fn export_workflow(client: &Client, workflow_id: &str, otlp: &Otlp) -> Result<usize, TraceError> {
    let chain = Transcript::of_chain(client, workflow_id, None).await?;
    Ok(otlp.export(spans(&chain, Part::Whole)).await?)
}

/// Exports the trace of a saved history; see [`export_workflow`].
///
/// # Errors
/// [`TraceError`].
pub async fn export_history(history: History, converter: &DataConverter, otlp: &Otlp) -> Result<usize, TraceError> {
    let transcript = Transcript::of_history(history, converter).await?;
    Ok(otlp.export(spans(&[transcript], Part::Whole)).await?)
}

/// The part of a trace that is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part<'p> {
    Whole,
    /// The spans of an outermost run that has ended, and of the runs inside it, without the attempts
    /// at activities and without the workflow.
    Run(&'p str),
    /// The spans of one execution that has ended, without the attempts at activities, which their
    /// workers send. The workflow itself is among them if it has ended.
    End {
        /// Start of the workflow's first execution, if that is another one.
        began: Option<SystemTime>,
        /// Ids of the outermost runs whose spans were sent when they ended.
        sent: &'p BTreeSet<String>,
    },
}

impl Part<'_> {
    /// Returns `true` if the spans of a run are wanted.
    fn has_run(&self, run: &str) -> bool {
        match self {
            Self::Whole => true,
            Self::Run(wanted) => is_inside(run, wanted),
            Self::End { sent, .. } => !sent.iter().any(|sent| is_inside(run, sent)),
        }
    }
}

/// Returns `true` if the history has the end of an outermost run and the ends of all its calls.
pub(super) fn is_whole(transcript: &Transcript, run: &str) -> bool {
    let mut runs = transcript.runs.iter().filter(|other| is_inside(&other.id, run));
    transcript.ended_runs.contains(run) && !runs.any(|run| run.turns.iter().any(is_pending))
}

/// Returns the spans of a workflow, whose executions are in order: parents before children.
pub(super) fn spans(chain: &[Transcript], part: Part<'_>) -> Vec<Span> {
    let (Some(first), Some(last)) = (chain.first(), chain.last()) else { return Vec::new() };
    let caller = chain.iter().find_map(|execution| Caller::of_traceparent(execution.tracer_data.get("traceparent")?));
    if caller.is_some_and(|caller| !caller.is_sampled) {
        return Vec::new();
    }
    let execution = execution_of(first);
    let places = Places::new(caller, &execution);
    let (Some(start), Some(end)) = (first.times.started, last.times.ended) else { return Vec::new() };
    let start = match part {
        Part::End { began: Some(began), .. } => began,
        Part::Whole | Part::Run(_) | Part::End { began: None, .. } => start,
    };
    let (failure, is_open) = match &last.end {
        End::Failed { failure } => (Some(failure.clone()), false),
        End::Cancelled => (Some(RecordedFailure::new("Cancelled", "")), false),
        End::Terminated { reason } => (Some(RecordedFailure::new("Terminated", reason)), false),
        End::TimedOut => (Some(RecordedFailure::new("Timeout", "")), false),
        End::Running => (None, true),
        End::Completed { .. } | End::ContinuedAsNew { .. } => (None, false),
    };
    let has_root = match part {
        Part::Whole => true,
        Part::Run(_) => false,
        Part::End { .. } => !matches!(last.end, End::ContinuedAsNew { .. }),
    };
    let (traces, captures) = (places.traces(chain), captures_content());
    let mut spans = Vec::new();
    for (trace, settings) in &traces {
        let has_attempts = part == Part::Whole;
        let mut tree = Tree { trace: *trace, captures, settings: Some(settings), has_attempts, spans };
        let root = attributes::workflow(&execution, settings.workflow_name.as_deref().unwrap_or(&first.workflow_type))
            .open_if(is_open);
        let parent = places.caller().map(|caller| caller.span);
        if has_root {
            tree.add(root, execution.workflow(), parent, (start, end), failure.as_ref());
        }
        for transcript in chain {
            let (execution, end) = (execution_of(transcript), transcript.times.ended.unwrap_or(end));
            Branch { execution, transcript, places, end, part, agents: BTreeMap::new() }.add_to(&mut tree);
        }
        spans = tree.spans;
    }
    spans
}

fn execution_of(transcript: &Transcript) -> Execution<'_> {
    let Transcript { workflow_id, run_id, first_run_id, .. } = transcript;
    Execution { workflow_id, run_id, first_run_id }
}
