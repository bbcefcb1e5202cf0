//! The result and the history of a workflow that has ended.

use temporalio_client::errors::WorkflowGetResultError;
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    failure::v1::{Failure, failure::FailureInfo},
    history::v1::history_event::Attributes,
};

use crate::history::History;

/// A workflow that has ended, and whose history replays.
#[derive(Debug)]
#[non_exhaustive]
pub struct FinishedRun<T> {
    /// Id of the workflow.
    pub workflow_id: String,
    /// The output of the workflow, or the error with which it ended.
    pub result: Result<T, WorkflowGetResultError>,
    /// The history of the workflow.
    pub history: History,
}

/// An activity as the history records it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityRecord {
    /// Id of the activity.
    pub activity_id: String,
    /// Type of the activity.
    pub activity_type: String,
    /// The last attempt that history records, counted from 1; 0 if it records none.
    pub attempts: i32,
    /// The outcome of the activity.
    pub outcome: ActivityOutcome,
}

/// The outcome of an activity.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActivityOutcome {
    /// The activity returned a result.
    Completed,
    /// The activity failed with a failure of this type; the type of a timeout is `Timeout`.
    Failed(String),
    /// The activity was cancelled.
    Cancelled,
    /// The activity has not ended.
    Pending,
}

impl<T> FinishedRun<T> {
    /// Creates a finished run from a result and a history that were fetched without an environment.
    pub fn new(workflow_id: impl Into<String>, result: Result<T, WorkflowGetResultError>, history: History) -> Self {
        Self { workflow_id: workflow_id.into(), result, history }
    }

    /// Returns the output of the workflow.
    ///
    /// # Errors
    /// The error with which the workflow ended instead.
    pub fn output(self) -> Result<T, WorkflowGetResultError> {
        self.result
    }

    /// Returns the activities, in the order in which they were scheduled.
    pub fn activities(&self) -> Vec<ActivityRecord> {
        activities(&self.history)
    }

    /// Returns the failure that ended the workflow, from the outermost to the innermost cause: type
    /// and message of each failure; empty if the workflow did not fail.
    ///
    /// A type is that of the ApplicationFailure, which may be empty (a cause that is not a Temporal
    /// failure has none), or `Activity`, `Timeout`, `Cancelled`. The chain of a run that fails for
    /// its own reason begins with `AgentsWorkflowError`.
    pub fn failure_chain(&self) -> Vec<(String, String)> {
        let ended = self.history.events.iter().find_map(|event| match &event.attributes {
            Some(Attributes::WorkflowExecutionFailedEventAttributes(attributes)) => attributes.failure.as_ref(),
            _ => None,
        });
        std::iter::successors(ended, |failure| failure.cause.as_deref())
            .map(|failure| (failure_type(failure), failure.message.clone()))
            .collect()
    }

    /// Returns the number of failed workflow tasks: 0 unless workflow code panicked or did not
    /// replay.
    pub fn failed_workflow_tasks(&self) -> usize {
        let failed = |event_type: i32| event_type == EventType::WorkflowTaskFailed as i32;
        self.history.events.iter().filter(|event| failed(event.event_type)).count()
    }
}

/// Returns the activities of a history, in the order in which they were scheduled.
pub fn activities(history: &History) -> Vec<ActivityRecord> {
    let mut records: Vec<(i64, ActivityRecord)> = Vec::new();
    let set = |records: &mut Vec<(i64, ActivityRecord)>, scheduled: i64, outcome: ActivityOutcome| {
        if let Some((_, record)) = records.iter_mut().find(|(event, _)| *event == scheduled) {
            record.outcome = outcome;
        }
    };
    for event in &history.events {
        match &event.attributes {
            Some(Attributes::ActivityTaskScheduledEventAttributes(attributes)) => {
                let record = ActivityRecord {
                    activity_id: attributes.activity_id.clone(),
                    activity_type: attributes.activity_type.as_ref().map(|kind| kind.name.clone()).unwrap_or_default(),
                    attempts: 0,
                    outcome: ActivityOutcome::Pending,
                };
                records.push((event.event_id, record));
            }
            Some(Attributes::ActivityTaskStartedEventAttributes(attributes)) => {
                let started = attributes.scheduled_event_id;
                if let Some((_, record)) = records.iter_mut().find(|(event, _)| *event == started) {
                    record.attempts = attributes.attempt;
                }
            }
            Some(Attributes::ActivityTaskCompletedEventAttributes(attributes)) => {
                set(&mut records, attributes.scheduled_event_id, ActivityOutcome::Completed);
            }
            Some(Attributes::ActivityTaskFailedEventAttributes(attributes)) => {
                let kind = attributes.failure.as_ref().map(failure_type).unwrap_or_default();
                set(&mut records, attributes.scheduled_event_id, ActivityOutcome::Failed(kind));
            }
            Some(Attributes::ActivityTaskTimedOutEventAttributes(attributes)) => {
                set(&mut records, attributes.scheduled_event_id, ActivityOutcome::Failed("Timeout".to_owned()));
            }
            Some(Attributes::ActivityTaskCanceledEventAttributes(attributes)) => {
                set(&mut records, attributes.scheduled_event_id, ActivityOutcome::Cancelled);
            }
            _ => {}
        }
    }
    records.into_iter().map(|(_, record)| record).collect()
}

fn failure_type(failure: &Failure) -> String {
    match &failure.failure_info {
        Some(FailureInfo::ApplicationFailureInfo(info)) => info.r#type.clone(),
        Some(FailureInfo::ActivityFailureInfo(_)) => "Activity".to_owned(),
        Some(FailureInfo::TimeoutFailureInfo(_)) => "Timeout".to_owned(),
        Some(FailureInfo::CanceledFailureInfo(_)) => "Cancelled".to_owned(),
        _ => String::new(),
    }
}
