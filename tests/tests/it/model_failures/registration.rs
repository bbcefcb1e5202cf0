//! What no worker ever has: the model, the model activity, a tool. The time that a call may take bounds how long it waits for one.

use std::time::Duration;

use serde_json::json;
use temporal_agents::{Agent, Runner, provider::OpenAi, tool};
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::ActivityOutcome, fake_model::tool_call};

use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::run::{Ask, Asking, asking, attempts, chain, model_failure};
use crate::support::{Stock, clerk};

/// Shorter than the pause after which another worker is asked for the model.
const SOON: Duration = Duration::from_secs(2);

/// Counts the pieces of a product; no worker has it.
#[tool(schedule_to_close = "2s", idempotent = false)]
async fn count_of(product: String) -> String {
    product
}

#[workflow]
#[derive(Default)]
struct Counting;

#[workflow_methods]
impl Counting {
    #[run(name = "counting")]
    async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        let clerk = Agent::new("clerk").model("gpt-5").tool(count_of);
        Ok(Runner::new(ctx).run(&clerk, question).await?.final_output)
    }
}

#[tokio::test]
async fn a_model_that_no_provider_serves_fails_the_run_when_its_time_is_up() -> anyhow::Result<()> {
    let provider = OpenAi::builder().api_key("key").serving(|name| name.starts_with("gpt-")).build()?;
    let env = asking()?.model_provider(provider).start().await?;
    let run = env.run(Asking::run, Ask::model("claude").schedule_to_close(SOON)).await?;
    assert_eq!(
        run.failure_chain(),
        model_failure(
            "claude",
            "UnknownModel",
            "no model provider of this worker serves \"claude\"; add one with Resources::model_provider, \
             or correct the model's name"
        )
    );
    let failed = ActivityOutcome::Failed("ModelInvocationError.UnknownModel".to_owned());
    assert_eq!(attempts(&run), [(1, failed)]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_provider_that_panics_is_asked_once() -> anyhow::Result<()> {
    let model = FakeModel::function(|_, _| panic!("the provider has a bug"));
    let env = asking()?.model(&model).start().await?;
    let run = env.run(Asking::run, Ask::model("gpt-5")).await?;
    assert_eq!(
        run.failure_chain(),
        model_failure("gpt-5", "Internal", "the model provider panicked: the provider has a bug")
    );
    assert_eq!(attempts(&run).len(), 1);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_calls_no_models_fails_the_run_when_its_time_is_up() -> anyhow::Result<()> {
    let env = asking()?.without_models().state(Stock(3)).agents((clerk,)).start().await?;
    let run = env.run(Asking::run, Ask::model("gpt-5").schedule_to_close(SOON)).await?;
    let failures = run.failure_chain();
    assert_eq!(
        failures[..2],
        chain(&[
            (
                "AgentsWorkflowError",
                "the model call of agent \"asker\" at turn 1 (model \"gpt-5\") failed: no worker on task queue \
                 \"agents\" calls models; install AgentsPlugin with a model provider on it (tried for 2 s)"
            ),
            ("Activity", "Activity task failed"),
        ])
    );
    assert_eq!((failures.len(), &*failures[2].0), (3, "NotFoundError"));
    // Under three ids: at once, after a second, and when the time is up.
    let not_found = ActivityOutcome::Failed("NotFoundError".to_owned());
    assert_eq!(attempts(&run), [1; 3].map(|attempt| (attempt, not_found.clone())));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_tool_that_no_worker_has_fails_the_run_when_its_time_is_up() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("count_of", json!({"product": "bolt"}))]);
    let env = AgentEnvironment::builder().workflow::<Counting>()?.model(&model).start().await?;
    let run = env.run(Counting::run, "How many?".to_owned()).await?;
    let failures = run.failure_chain();
    assert_eq!(
        failures[..2],
        chain(&[
            (
                "AgentsWorkflowError",
                "tool \"count_of\" of agent \"clerk\" is not registered on task queue \"agents\"; \
                 add the agent to AgentsPlugin::agents on that queue's worker (tried for 2 s)"
            ),
            ("Activity", "Activity task failed"),
        ])
    );
    assert_eq!((failures.len(), &*failures[2].0), (3, "NotFoundError"));
    let not_found = ActivityOutcome::Failed("NotFoundError".to_owned());
    assert_eq!(
        attempts(&run),
        [(1, ActivityOutcome::Completed), (1, not_found.clone()), (1, not_found.clone()), (1, not_found)]
    );
    let ids: Vec<_> = run.activities().into_iter().map(|activity| activity.activity_id[8..].to_owned()).collect();
    assert_eq!(ids, ["-1-model", "-1-tool-0", "-1-tool-0-retry-1", "-1-tool-0-retry-2"]);
    env.finish().await?;
    Ok(())
}
