//! Answers that are none, in a workflow: what follows is the same on replay.

use rstest::rstest;
use serde::{Deserialize, Serialize};
use serde_json::json;
use temporal_agents::{
    Agent, Runner,
    run::{IncompleteAnswers, RunConfig},
    tool,
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{reasoning, text, tool_call},
    replay, replay_without_cache,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Pays everything.
#[tool]
async fn pay() -> String {
    "paid".to_owned()
}

fn payer() -> Agent {
    Agent::new("payer").model("gpt-5").tool(pay)
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Reaction {
    AskAgain,
    TellModel,
}

#[workflow]
#[derive(Default)]
struct Paying;

#[workflow_methods]
impl Paying {
    #[run(name = "paying-with-incomplete-answers")]
    async fn run(ctx: &mut WorkflowContext<Self>, reaction: Reaction) -> WorkflowResult<(String, Option<String>)> {
        let reaction = match reaction {
            Reaction::AskAgain => IncompleteAnswers::AskAgain,
            Reaction::TellModel => IncompleteAnswers::TellModel,
        };
        let config = RunConfig::builder().incomplete_answers(reaction).build();
        let run = Runner::with_config(ctx, config).run(&payer(), "Pay.").await?;
        Ok((run.final_output, run.incomplete))
    }
}

#[rstest]
#[case::asked_again(Reaction::AskAgain, [1, 1, 3, 3, 4])]
#[case::told(Reaction::TellModel, [1, 3, 5, 5, 6])]
#[tokio::test]
async fn workflow_asks_again_and_replays(#[case] reaction: Reaction, #[case] inputs: [usize; 5]) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("pay", json!({})).incomplete("max_output_tokens"),
        tool_call("pay", json!({})),
        reasoning("hm").incomplete("max_output_tokens"),
        text("Paid, and").incomplete("pause_turn"),
        text("done").incomplete("tired"),
    ]);
    let env = AgentEnvironment::builder().workflow::<Paying>()?.model(&model).agents((payer,)).start().await?;
    let finished = env.run(Paying::run, reaction).await?;
    env.finish().await?;
    let seen: Vec<usize> = model.calls().iter().map(|call| call.input.len()).collect();
    assert_eq!(seen, inputs);
    replay::<Paying>(&finished.history).await?;
    replay_without_cache::<Paying>(&finished.history).await?;
    assert_eq!(finished.output()?, ("done".to_owned(), Some("tired".to_owned())));
    Ok(())
}
