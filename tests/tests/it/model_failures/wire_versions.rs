//! Model requests that this worker must not act on: written by a newer release, or not what they say they are.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::wire::{Definitions, Item, MODEL_ACTIVITY, ModelCall, ModelRequest};
use temporal_agents_testing::{AgentEnvironment, FakeModel, history::History};
use temporalio_common::{
    ActivityDefinition,
    protos::temporal::api::{
        enums::v1::RetryState,
        failure::v1::{ApplicationFailureInfo, failure::FailureInfo},
        history::v1::history_event::Attributes,
    },
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};
use temporalio_workflow::{ActivityOptions, RetryPolicy};

use super::run::chain;

/// The model activity as another release sees it.
struct CallModel;

impl ActivityDefinition for CallModel {
    type Input = Value;
    type Output = Value;

    fn name(&self) -> &str {
        MODEL_ACTIVITY
    }
}

/// A workflow of another release: sends its input as the model request, once.
#[workflow]
#[derive(Default)]
struct OtherRelease;

#[workflow_methods]
impl OtherRelease {
    #[run(name = "other-release")]
    async fn run(ctx: &mut WorkflowContext<Self>, request: Value) -> WorkflowResult<Value> {
        let options = ActivityOptions::with_start_to_close_timeout(Duration::from_secs(10))
            .retry_policy(RetryPolicy::builder().maximum_attempts(1).build())
            .build();
        Ok(ctx.execute_activity(CallModel, request, options).await?)
    }
}

/// A request of this release with something changed.
fn request(change: impl FnOnce(&mut Value)) -> Value {
    let call = ModelCall::new("asker", "gpt-5", Definitions::default(), vec![Item::user("hello")]);
    let mut request = serde_json::to_value(ModelRequest::in_full(&call)).expect("a request is JSON");
    change(&mut request);
    request
}

#[rstest]
#[case::of_a_newer_release(
    request(|request| request["version"] = json!({"major": 99, "minor": 3})),
    "model request has wire version 99.3, this build reads 0.x and 1.2; deploy a newer worker"
)]
#[case::with_an_unknown_instruction(
    request(|request| request["input"]["segments"][0] = json!({"kind": "memory", "of": "last week"})),
    "model request has wire version 1.2 and the unknown kind \"memory\", this build reads 0.x and 1.2; \
     deploy a newer worker"
)]
#[tokio::test]
async fn a_request_of_a_newer_release_waits_for_a_newer_worker(
    #[case] request: Value,
    #[case] message: &str,
) -> anyhow::Result<()> {
    let env = environment().await?;
    let run = env.run(OtherRelease::run, request).await?;
    assert_eq!(run.failure_chain(), chain(&[("Activity", "Activity task failed"), ("WireVersionMismatch", message)]));
    let (retry_state, failure) = end_of_the_call(&run.history);
    // The attempts are used up; a failure that is not retried would say so instead.
    assert_eq!((retry_state, failure.non_retryable), (RetryState::MaximumAttemptsReached, false));
    let pause = failure.next_retry_delay.expect("the worker says when to try again");
    assert_eq!((pause.seconds, pause.nanos), (5, 0));
    env.finish().await?;
    Ok(())
}

#[rstest]
#[case::without_its_members(json!({"version": {"major": 1, "minor": 0}}), "model request is malformed: missing field `agent`")]
#[case::with_fewer_items_than_it_says(
    request(|request| request["input"]["count"] = json!(2)),
    "the model request states 2 items, but contains 1"
)]
#[tokio::test]
async fn a_request_that_is_malformed_is_read_once(#[case] request: Value, #[case] message: &str) -> anyhow::Result<()> {
    let env = environment().await?;
    let run = env.run(OtherRelease::run, request).await?;
    assert_eq!(
        run.failure_chain(),
        chain(&[("Activity", "Activity task failed"), ("ModelInvocationError.Internal", message)])
    );
    let (retry_state, failure) = end_of_the_call(&run.history);
    assert_eq!((retry_state, failure.non_retryable), (RetryState::NonRetryableFailure, true));
    env.finish().await?;
    Ok(())
}

async fn environment() -> anyhow::Result<AgentEnvironment> {
    let model = FakeModel::script([]);
    Ok(AgentEnvironment::builder().workflow::<OtherRelease>()?.model(&model).start().await?)
}

/// Why the call was not tried again, and its failure.
fn end_of_the_call(history: &History) -> (RetryState, ApplicationFailureInfo) {
    let failed = history.events.iter().find_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskFailedEventAttributes(failed)) => Some(failed.clone()),
        _ => None,
    });
    let failed = failed.expect("the call failed");
    match failed.failure.as_ref().and_then(|failure| failure.failure_info.clone()) {
        Some(FailureInfo::ApplicationFailureInfo(failure)) => (failed.retry_state(), failure),
        other => panic!("no application failure: {other:?}"),
    }
}
