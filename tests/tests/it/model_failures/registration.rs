//! What a worker lacks: the model, the model activity, a tool.

use serde_json::json;
use temporal_agents::worker::OpenAi;
use temporal_agents_testing::{AgentEnvironment, FakeModel, environment::ActivityOutcome, fake_model::tool_call};

use super::run::{Ask, Asking, asking, attempts, chain, model_failure};
use crate::support::{Clerk, Stock, clerk};

#[tokio::test]
async fn a_model_that_no_provider_serves_is_asked_for_once() -> anyhow::Result<()> {
    let provider = OpenAi::builder().api_key("key").serving(|name| name.starts_with("gpt-")).build()?;
    let env = asking()?.model_provider(provider).start().await?;
    let run = env.run(Asking::run, Ask::model("claude")).await?;
    assert_eq!(
        run.failure_chain(),
        model_failure(
            "claude",
            "UnknownModel",
            "no model provider of this worker serves \"claude\"; add one with AgentsPlugin::model_provider, \
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
async fn a_worker_that_calls_no_models_fails_the_run_at_once() -> anyhow::Result<()> {
    let builder = AgentEnvironment::builder().workflow::<Clerk>()?;
    let env = builder.models_elsewhere().state(Stock(3)).agents((clerk,)).start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let failures = run.failure_chain();
    assert_eq!(
        failures[..2],
        chain(&[
            (
                "AgentsWorkflowError",
                "the model call of agent \"clerk\" at turn 1 (model \"gpt-5\") failed: no worker on task queue \
                 \"agents\" calls models; install AgentsPlugin with a model provider on it"
            ),
            ("Activity", "Activity task failed"),
        ])
    );
    assert_eq!((failures.len(), &*failures[2].0), (3, "NotFoundError"));
    assert_eq!(attempts(&run), [(1, ActivityOutcome::Failed("NotFoundError".to_owned()))]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_tool_that_no_worker_has_fails_the_run_at_once() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("stock_of", json!({"product": "bolt"}))]);
    let env = AgentEnvironment::builder().workflow::<Clerk>()?.model(&model).start().await?;
    let run = env.run(Clerk::run, "How many?".to_owned()).await?;
    let failures = run.failure_chain();
    assert_eq!(
        failures[..2],
        chain(&[
            (
                "AgentsWorkflowError",
                "tool \"stock_of\" of agent \"clerk\" is not registered on task queue \"agents\"; \
                 add the agent to AgentsPlugin::agents on that queue's worker"
            ),
            ("Activity", "Activity task failed"),
        ])
    );
    assert_eq!((failures.len(), &*failures[2].0), (3, "NotFoundError"));
    let not_found = ActivityOutcome::Failed("NotFoundError".to_owned());
    assert_eq!(attempts(&run), [(1, ActivityOutcome::Completed), (1, not_found)]);
    env.finish().await?;
    Ok(())
}
