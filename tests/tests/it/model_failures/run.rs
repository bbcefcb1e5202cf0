//! The run these tests make: one agent, one model call; and what they read from its history.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, ModelActivityOptions, Runner, workflow::ModelRetryPolicy};
use temporal_agents_testing::{
    AgentEnvironment, FinishedRun,
    environment::{ActivityOutcome, AgentEnvironmentBuilder},
    history::History,
};
use temporalio_common::protos::temporal::api::{
    enums::v1::EventType,
    history::v1::{ActivityTaskStartedEventAttributes, history_event::Attributes},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use temporalio_workflow::ActivityCancellationType;

/// Which model is asked, and how the call is scheduled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ask {
    model: String,
    attempts: u32,
    pause: Duration,
    start_to_close: Duration,
    heartbeat: Duration,
    schedule_to_close: Duration,
    local: bool,
    awaits_cancellation: bool,
}

impl Ask {
    pub(super) fn model(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            attempts: 0,
            pause: Duration::from_millis(50),
            start_to_close: Duration::from_mins(1),
            heartbeat: Duration::from_secs(1),
            schedule_to_close: Duration::from_hours(6),
            local: false,
            awaits_cancellation: false,
        }
    }

    pub(super) fn attempts(self, attempts: u32) -> Self {
        Self { attempts, ..self }
    }

    pub(super) fn pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    pub(super) fn start_to_close(self, start_to_close: Duration) -> Self {
        Self { start_to_close, ..self }
    }

    pub(super) fn schedule_to_close(self, schedule_to_close: Duration) -> Self {
        Self { schedule_to_close, ..self }
    }

    pub(super) fn local(self) -> Self {
        Self { local: true, ..self }
    }

    pub(super) fn awaiting_cancellation(self) -> Self {
        Self { awaits_cancellation: true, ..self }
    }

    fn options(&self) -> ModelActivityOptions {
        let retry = ModelRetryPolicy::builder().initial_interval(self.pause).maximum_attempts(self.attempts).build();
        let cancellation = if self.awaits_cancellation {
            ActivityCancellationType::WaitCancellationCompleted
        } else {
            ActivityCancellationType::TryCancel
        };
        ModelActivityOptions::builder()
            .start_to_close(self.start_to_close)
            .heartbeat(self.heartbeat)
            .schedule_to_close(self.schedule_to_close)
            .retry(retry)
            .cancellation_type(cancellation)
            .local(self.local)
            .build()
    }
}

#[workflow]
#[derive(Default)]
pub(crate) struct Asking;

#[workflow_methods]
impl Asking {
    #[run(name = "asking")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, ask: Ask) -> WorkflowResult<String> {
        let agent = Agent::new("asker").model(&*ask.model).instructions("Be brief.");
        Ok(Runner::new(ctx).model_activity(ask.options()).run(&agent, "hello").await?.final_output)
    }
}

/// An environment for [`Asking`], without a source of models.
pub(super) fn asking() -> anyhow::Result<AgentEnvironmentBuilder> {
    Ok(AgentEnvironment::builder().workflow::<Asking>()?)
}

/// A failure as [`FinishedRun::failure_chain`] gives it.
pub(super) type Chain = Vec<(String, String)>;

pub(super) fn chain(links: &[(&str, &str)]) -> Chain {
    links.iter().map(|(kind, message)| ((*kind).to_owned(), (*message).to_owned())).collect()
}

/// The failure of a run whose call of this model failed: the run's sentence, the activity's failure, and its cause.
pub(super) fn model_failure(model: &str, kind: &str, message: &str) -> Chain {
    let sentence = format!("the model call of agent \"asker\" at turn 1 (model {model:?}) failed: {message}");
    chain(&[
        ("AgentsWorkflowError", &sentence),
        ("Activity", "Activity task failed"),
        (&format!("ModelInvocationError.{kind}"), message),
    ])
}

/// How the activities of a run ended, each after how many attempts.
pub(super) fn attempts<T>(run: &FinishedRun<T>) -> Vec<(i32, ActivityOutcome)> {
    run.activities().into_iter().map(|activity| (activity.attempts, activity.outcome)).collect()
}

/// How many events of this type a history has.
pub(super) fn count(history: &History, event_type: EventType) -> usize {
    history.events.iter().filter(|event| event.event_type == event_type as i32).count()
}

/// The only activity's last attempt, which tells its worker, its number, and the failure of the attempt before.
pub(super) fn last_attempt(history: &History) -> ActivityTaskStartedEventAttributes {
    let started = history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskStartedEventAttributes(started)) => Some(started.clone()),
        _ => None,
    });
    started.expect("an activity was started")
}
