//! A workflow that knows nothing of agents, and the activity it calls, whose body a test writes.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use temporal_agents::workflow::ApprovalWorkflow;
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::AgentEnvironmentBuilder};
use temporalio_common::protos::temporal::api::common::v1::RetryPolicy;
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use temporalio_workflow::{ActivityCancellationType, ActivityOptions, WorkflowContext, WorkflowResult};

type Body = dyn Fn(ActivityContext, Value) -> BoxFuture<'static, Result<Value, ActivityError>> + Send + Sync;

/// The activity.
#[derive(Clone)]
pub(crate) struct Desk(Arc<Body>);

impl Desk {
    pub(crate) fn new<F>(body: impl Fn(ActivityContext, Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, ActivityError>> + Send + 'static,
    {
        Self(Arc::new(move |ctx, input| Box::pin(body(ctx, input))))
    }

    /// A builder of an environment with the workflow and this activity.
    pub(crate) fn environment(&self) -> anyhow::Result<AgentEnvironmentBuilder> {
        let desk = self.clone();
        Ok(office()?.worker_options(move |options| {
            options.register_activities(desk);
        }))
    }
}

/// A builder of an environment with the workflow alone; its activity is to be found elsewhere.
pub(crate) fn office() -> anyhow::Result<AgentEnvironmentBuilder> {
    // The worker's own model is not asked: the runs of a session have theirs.
    let nobody = FakeModel::script([]);
    Ok(AgentEnvironment::builder().workflow::<Office>()?.workflow::<ApprovalWorkflow>()?.model(&nobody))
}

#[activities]
impl Desk {
    #[activity]
    pub(crate) async fn work(self: Arc<Self>, ctx: ActivityContext, input: Value) -> Result<Value, ActivityError> {
        (self.0)(ctx, input).await
    }
}

/// What the office is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) input: Value,
    pub(crate) attempts: i32,
    pub(crate) heartbeat_timeout: Duration,
    /// Where the desk is; absent = in the worker of the workflow.
    pub(crate) task_queue: Option<String>,
}

impl Order {
    pub(crate) fn new(input: impl Into<Value>) -> Self {
        Self { input: input.into(), attempts: 3, heartbeat_timeout: Duration::from_secs(5), task_queue: None }
    }
}

/// The workflow.
#[workflow]
#[derive(Default)]
pub(crate) struct Office;

#[workflow_methods]
impl Office {
    #[run]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, order: Order) -> WorkflowResult<Value> {
        let Order { input, attempts, heartbeat_timeout, task_queue } = order;
        let retries = RetryPolicy {
            initial_interval: Some(Duration::from_millis(10).try_into().expect("10 ms are a duration")),
            maximum_attempts: attempts,
            ..RetryPolicy::default()
        };
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_mins(2))
            .heartbeat_timeout(heartbeat_timeout)
            .retry_policy(retries)
            .cancellation_type(ActivityCancellationType::WaitCancellationCompleted)
            .maybe_task_queue(task_queue)
            .build();
        Ok(ctx.execute_activity(Desk::work, input, options).await?)
    }
}
