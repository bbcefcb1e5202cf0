//! What was seen of a cell, as a line of the table.

use temporal_agents::tool::ToolFailureKind;
use temporal_agents_testing::{
    environment::{ActivityOutcome, ActivityRecord, FinishedRun, activities},
    history::History,
};
use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::protos::temporal::api::history::v1::{MarkerRecordedEventAttributes, history_event::Attributes};

use super::cells::{Binding, Cell, Outcome};

/// What was seen of a cell.
pub(super) struct Seen {
    pub(super) cell: Cell,
    /// What the model was told of its call; nothing where it was not asked again.
    pub(super) told: Option<String>,
    pub(super) kind: Option<ToolFailureKind>,
    /// Why an output was not taken.
    pub(super) at_the_door: Option<String>,
    pub(super) ended: String,
    pub(super) history: History,
}

impl Seen {
    /// How a run ended.
    pub(super) fn end_of(run: &FinishedRun<String>) -> String {
        match &run.result {
            Ok(output) => output.clone(),
            Err(WorkflowGetResultError::Cancelled { .. }) => "cancelled".to_owned(),
            Err(_) => run.failure_chain().into_iter().next().map(|(_, message)| message).unwrap_or_default(),
        }
    }

    pub(super) fn line(&self) -> String {
        let told = self.told.as_deref().map_or_else(|| "is not asked again".to_owned(), |told| format!("`{told}`"));
        let kind = self.kind.map(|kind| format!("{kind:?}")).unwrap_or_default();
        let mut events = events(&self.history);
        events.extend(self.at_the_door.iter().map(|reason| format!("refused: {reason}")));
        let events = events.join("; ");
        format!("| {} | {told} | {kind} | {events} | {} |", self.cell.outcome.name(), self.ended)
    }
}

pub(super) fn no_cell(cell: Cell, reason: &str) -> String {
    format!("| {} | no cell: {reason} | | | |", cell.outcome.name())
}

/// The lines of all cells, in their order, under the names of their bindings.
pub(super) fn table(lines: &[String]) -> String {
    let head = "| outcome | the model is told | kind | history | the run ends |\n|---|---|---|---|---|";
    let sections = Binding::ALL.iter().zip(lines.chunks(Outcome::ALL.len()));
    let sections: Vec<String> =
        sections.map(|(binding, lines)| format!("## {}\n\n{head}\n{}\n", binding.name(), lines.join("\n"))).collect();
    format!("{INTRODUCTION}\n{}", sections.join("\n"))
}

const INTRODUCTION: &str = "# Each binding with each outcome

`tool_matrix.rs` plays each line on a dev server and replays its history. History: the events of the call, without those of model calls and of
listing tools; an activity with the number of its attempts. Tools have two attempts, and those that must not run twice one.
";

/// An activity that is of the call.
fn words_of(activity: &ActivityRecord) -> Option<String> {
    let kind = &*activity.activity_type;
    if kind == "agents.call_model" || kind.ends_with(".list_tools") {
        return None;
    }
    let outcome = match &activity.outcome {
        ActivityOutcome::Completed => "completed".to_owned(),
        ActivityOutcome::Failed(kind) if kind.is_empty() => "failed".to_owned(),
        ActivityOutcome::Failed(kind) => format!("failed ({kind})"),
        ActivityOutcome::Cancelled => "cancelled".to_owned(),
        _ => "pending".to_owned(),
    };
    Some(format!("activity {kind} ×{} {outcome}", activity.attempts))
}

/// Patches of a whole execution, which are not of the call: of its notes, and of the tools that are listed as it begins.
const OF_THE_EXECUTION: [&str; 2] = ["temporal-agents/run-noted", "temporal-agents/mcp-lists-in-state"];

fn is_of_the_execution(marker: &MarkerRecordedEventAttributes) -> bool {
    let Some(patch) = marker.details.get("patch-data").and_then(|data| data.payloads.first()) else {
        return false;
    };
    let patch = String::from_utf8_lossy(&patch.data);
    OF_THE_EXECUTION.iter().any(|known| patch.contains(known))
}

/// What history has of the call, in order.
fn events(history: &History) -> Vec<String> {
    let mut found = Vec::new();
    let mut activities = activities(history).into_iter();
    for event in &history.events {
        let words = match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(_)) => {
                found.extend(activities.next().and_then(|activity| words_of(&activity)));
                continue;
            }
            Some(Attributes::MarkerRecordedEventAttributes(marker)) if marker.failure.is_some() => {
                "marker of a failure"
            }
            Some(Attributes::MarkerRecordedEventAttributes(marker)) if is_of_the_execution(marker) => continue,
            Some(Attributes::MarkerRecordedEventAttributes(_)) => "marker",
            Some(Attributes::TimerStartedEventAttributes(_)) => "timer started",
            Some(Attributes::TimerFiredEventAttributes(_)) => "timer fired",
            Some(Attributes::TimerCanceledEventAttributes(_)) => "timer cancelled",
            Some(Attributes::StartChildWorkflowExecutionInitiatedEventAttributes(_)) => "child started",
            Some(Attributes::ChildWorkflowExecutionCompletedEventAttributes(_)) => "child completed",
            Some(Attributes::ChildWorkflowExecutionFailedEventAttributes(_)) => "child failed",
            Some(Attributes::ChildWorkflowExecutionTimedOutEventAttributes(_)) => "child timed out",
            Some(Attributes::ChildWorkflowExecutionCanceledEventAttributes(_)) => "child cancelled",
            Some(Attributes::ChildWorkflowExecutionTerminatedEventAttributes(_)) => "child terminated",
            Some(Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(_)) => "update",
            Some(Attributes::WorkflowExecutionCancelRequestedEventAttributes(_)) => "cancellation requested",
            _ => continue,
        };
        found.push(words.to_owned());
    }
    if found.is_empty() { vec!["nothing".to_owned()] } else { found }
}
