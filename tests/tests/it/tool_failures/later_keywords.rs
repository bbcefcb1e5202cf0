//! Keywords that earlier builds did not check decide in new runs alone: histories of earlier builds replay.

use rstest::rstest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{Agent, Runner, tool};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    environment::{AgentEnvironmentBuilder, activities},
    fake_model::{text, tool_call},
    replay, replay_without_cache,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::examples::{Cache, Played, histories};

/// A code of three capital letters.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
struct Code(#[schemars(regex(pattern = "^[A-Z]{3}$"))] String);

/// Stamps a letter.
#[tool]
async fn stamp(code: Code) -> String {
    format!("stamped {}", code.0)
}

/// Stamps a letter. An earlier build saw no more of the tool above.
#[tool(name = "stamp")]
async fn stamp_before(code: String) -> String {
    format!("stamped {code}")
}

#[workflow]
#[derive(Default)]
pub(crate) struct Post;

#[workflow_methods]
impl Post {
    #[run(name = "post")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let clerk = Agent::new("clerk").model("gpt-5").tool(stamp);
        Ok(Runner::new(ctx).run(&clerk, "Stamp it.").await?.final_output)
    }
}

#[workflow]
#[derive(Default)]
struct PostBefore;

#[workflow_methods]
impl PostBefore {
    #[run(name = "post")]
    async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let clerk = Agent::new("clerk").model("gpt-5").tool(stamp_before);
        Ok(Runner::new(ctx).run(&clerk, "Stamp it.").await?.final_output)
    }
}

/// The history of a run in which the tool took what its pattern refuses.
pub(crate) async fn played_before(cache: Cache) -> anyhow::Result<Played<String>> {
    let agents = (|| Agent::new("clerk").model("gpt-5").tool(stamp_before),);
    let (env, model) = begun(cache.environment::<PostBefore>()?.agents(agents)).await?;
    let run = env.await_run(&env.start_workflow(PostBefore::run, ()).await?).await?;
    let histories = histories::<PostBefore>(&env, &run.workflow_id).await?;
    let output = run.output()?;
    env.finish().await?;
    Ok(Played { output, histories, calls: model.calls() })
}

/// The history of a run in which the pattern refused.
pub(crate) async fn played(cache: Cache) -> anyhow::Result<Played<String>> {
    let agents = (|| Agent::new("clerk").model("gpt-5").tool(stamp),);
    let (env, model) = begun(cache.environment::<Post>()?.agents(agents)).await?;
    let run = env.await_run(&env.start_workflow(Post::run, ()).await?).await?;
    let histories = histories::<Post>(&env, &run.workflow_id).await?;
    let output = run.output()?;
    env.finish().await?;
    Ok(Played { output, histories, calls: model.calls() })
}

async fn begun(builder: AgentEnvironmentBuilder) -> anyhow::Result<(AgentEnvironment, FakeModel)> {
    let model = FakeModel::script([tool_call("stamp", json!({"code": "abc"})), text("done")]);
    Ok((builder.model(&model).start().await?, model))
}

fn has_stamped(played: &Played<String>) -> bool {
    played.histories.iter().flat_map(activities).any(|activity| activity.activity_type.ends_with("stamp"))
}

#[rstest]
#[tokio::test]
async fn a_history_from_before_a_keyword_was_checked_replays(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let before = played_before(cache).await?;
    assert!(has_stamped(&before));
    for history in &before.histories {
        replay::<Post>(history).await?;
        replay_without_cache::<Post>(history).await?;
    }
    Ok(())
}

#[rstest]
#[tokio::test]
async fn in_a_new_run_the_keyword_decides(#[values(Cache::On, Cache::Off)] cache: Cache) -> anyhow::Result<()> {
    assert!(!has_stamped(&played(cache).await?));
    Ok(())
}
