//! What the server tells about a run that is open, as plain data.

use std::time::{SystemTime, UNIX_EPOCH};

use temporalio_common::{
    data_converters::DataConverter,
    protos::temporal::api::{
        enums::v1::{PendingActivityState, PendingWorkflowTaskState},
        failure::v1::failure::FailureInfo,
        workflow::v1::{PendingActivityInfo, PendingWorkflowTaskInfo},
        workflowservice::v1::DescribeWorkflowExecutionResponse,
    },
};

use crate::client::history;

/// Milliseconds since the Unix epoch.
pub(super) type Millis = i64;

/// An open run, as `DescribeWorkflowExecution` shows it, and what was read for it since.
#[derive(Clone, Debug, Default)]
pub(super) struct RunFacts {
    pub(super) now: Millis,
    pub(super) workflow_type: String,
    pub(super) task_queue: String,
    pub(super) history_length: i64,
    pub(super) workflow_task: Option<WorkflowTask>,
    pub(super) activities: Vec<Activity>,
    /// `true` if the run waits for child workflows or Nexus operations.
    pub(super) has_children: bool,
    /// `true` if the first task of the run is due later.
    pub(super) is_delayed: bool,
    /// `true` if the run waits for people.
    pub(super) is_waiting: bool,
    /// The latest workflow task that has failed, if it was read.
    pub(super) failed_task: Option<FailedTask>,
    /// The end of the history, if it was read.
    pub(super) tail: Option<Tail>,
    /// The pollers of task queues, as far as they were read.
    pub(super) workflow_pollers: Option<bool>,
    pub(super) activity_pollers: Option<bool>,
}

/// The workflow task that the server has scheduled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WorkflowTask {
    pub(super) attempt: i32,
    pub(super) scheduled: Millis,
    pub(super) is_started: bool,
}

/// An activity that has not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) task_queue: String,
    pub(super) attempt: i32,
    /// `true` while a worker has it.
    pub(super) is_started: bool,
    /// `true` if a person has paused it.
    pub(super) is_paused: bool,
    /// Time at which this attempt was or is to be scheduled.
    pub(super) scheduled: Millis,
    /// Message of the latest failure.
    pub(super) failure: Option<String>,
    /// `true` if the latest failure is a timeout.
    pub(super) has_timed_out: bool,
    /// The origin of the call, if its request was read.
    pub(super) caller: Option<Caller>,
}

/// The origin of an activity.
#[derive(Clone, Debug, Default)]
pub(super) struct Caller {
    /// Name of the agent.
    pub(super) agent: Option<String>,
    /// Time at which the first attempt was scheduled.
    pub(super) first_scheduled: Millis,
}

/// The latest event about a workflow task that has not completed.
#[derive(Clone, Debug)]
pub(super) enum FailedTask {
    /// The build does not follow the history; the message of the SDK.
    Nondeterminism(String),
    /// Any other failure.
    Failed(String),
    /// The worker did not answer in time.
    TimedOut,
}

/// The end of a history.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub(super) last_event: Millis,
    /// `true` if a timer runs, or the history is too long to know.
    pub(super) may_have_timer: bool,
}

impl RunFacts {
    /// Reads what the server says; `is_waiting` tells whether the run waits for people.
    pub(super) async fn read(
        described: &DescribeWorkflowExecutionResponse,
        converter: &DataConverter,
        is_waiting: bool,
        now: Millis,
    ) -> Self {
        let info = described.workflow_execution_info.clone().unwrap_or_default();
        let mut activities = Vec::new();
        for activity in &described.pending_activities {
            activities.push(Activity::read(activity, converter).await);
        }
        Self {
            now,
            workflow_type: info.r#type.unwrap_or_default().name,
            task_queue: info.task_queue,
            history_length: info.history_length,
            workflow_task: described.pending_workflow_task.as_ref().map(WorkflowTask::of),
            activities,
            has_children: !described.pending_children.is_empty() || !described.pending_nexus_operations.is_empty(),
            is_delayed: millis(info.execution_time.as_ref()) > now,
            is_waiting,
            ..Self::default()
        }
    }
}

impl WorkflowTask {
    fn of(task: &PendingWorkflowTaskInfo) -> Self {
        Self {
            attempt: task.attempt,
            scheduled: millis(task.original_scheduled_time.as_ref().or(task.scheduled_time.as_ref())),
            is_started: task.state() == PendingWorkflowTaskState::Started,
        }
    }
}

impl Activity {
    async fn read(activity: &PendingActivityInfo, converter: &DataConverter) -> Self {
        let options = activity.activity_options.as_ref();
        let queue = options.and_then(|options| options.task_queue.as_ref());
        let failure = match activity.last_failure.clone() {
            Some(failure) => Some(history::failure(converter, failure).await.message),
            None => None,
        };
        let info = activity.last_failure.as_ref().and_then(|failure| failure.failure_info.as_ref());
        Self {
            id: activity.activity_id.clone(),
            kind: activity.activity_type.clone().unwrap_or_default().name,
            task_queue: queue.map(|queue| queue.name.clone()).unwrap_or_default(),
            attempt: activity.attempt,
            is_started: matches!(
                activity.state(),
                PendingActivityState::Started | PendingActivityState::CancelRequested
            ),
            is_paused: activity.paused,
            scheduled: millis(activity.scheduled_time.as_ref()),
            failure,
            has_timed_out: matches!(info, Some(FailureInfo::TimeoutFailureInfo(_))),
            caller: None,
        }
    }
}

/// Returns a timestamp of the server; 0 if there is none.
pub(super) fn millis<T: Clone + TryInto<SystemTime>>(time: Option<&T>) -> Millis {
    let time = time.and_then(|time| time.clone().try_into().ok()).unwrap_or(UNIX_EPOCH);
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
