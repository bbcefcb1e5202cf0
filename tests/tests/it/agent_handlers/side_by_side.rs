//! Several runs of one workflow that ask for calls of the same id.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Runner, Tool, ToolError, agent_handlers,
    client::AgentHandle,
    run::RunOutcome,
    tool,
    wire::{DecisionAnswer, RunStatus},
    workflow::AgentInbox,
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{Reply, item, text},
};
use temporalio_client::WorkflowGetResultOptions;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult, workflows::join};
use tokio::time::timeout;

use super::support::state_when;
use crate::examples::{Cache, histories};

/// Opens a gate.
#[tool]
async fn open(gate: String) -> Result<String, ToolError> {
    Ok(format!("the {gate} gate is open"))
}

fn guard(name: &str) -> Agent {
    Agent::new(name).model("gpt-5").tool(open.needs_approval())
}

fn north() -> Agent {
    guard("north")
}

fn south() -> Agent {
    guard("south")
}

/// A model that numbers its calls from 0 in each answer.
fn model() -> FakeModel {
    FakeModel::function(|call, _| -> Reply {
        let output = call.input.iter().rev().find_map(|item| Some(item.get("output")?.as_str()?.to_owned()));
        let arguments = json!({"gate": call.agent}).to_string();
        match output {
            Some(output) => text(output),
            None => item(json!({
                "type": "function_call", "call_id": "call_0", "name": "open", "arguments": arguments,
            })),
        }
    })
}

/// What the two runs of a workflow do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Watch {
    /// They run at the same time.
    Both,
    /// The first one pauses and is left alone; the second one waits around its pauses.
    SecondAlone,
}

#[workflow]
#[derive(Default)]
pub(crate) struct Castle {
    inbox: AgentInbox,
    /// How often the second run was taken up.
    taken_up: u32,
}

#[agent_handlers]
#[workflow_methods]
impl Castle {
    #[run(name = "castle")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, watch: Watch) -> WorkflowResult<Vec<String>> {
        let runner = Runner::with_inbox(ctx);
        let (north, south) = (north(), south());
        if watch == Watch::Both {
            let (north, south) =
                join!(runner.run(&north, "Open.").into_future(), runner.run(&south, "Open.").into_future());
            return Ok(vec![north?.final_output, south?.final_output]);
        }
        let _left_alone = runner.run(&north, "Open.").until_paused().await?;
        let mut outcome = runner.run(&south, "Open.").until_paused().await?;
        loop {
            let paused = match outcome {
                RunOutcome::Finished(result) => {
                    let taken_up = ctx.state(|castle| castle.taken_up);
                    return Ok(vec![result.final_output, format!("taken up {taken_up} time(s)")]);
                }
                RunOutcome::Paused(paused) => paused.state,
            };
            ctx.wait_condition(|castle| castle.inbox.has_decisions_on(&paused)).await?;
            ctx.state_mut(|castle| castle.taken_up += 1);
            outcome = runner.run(&south, paused).until_paused().await?;
        }
    }
}

#[rstest]
#[case::runs_at_the_same_time(Watch::Both, &["the north gate is open", "no"])]
#[case::one_that_was_left_alone(Watch::SecondAlone, &["no", "taken up 1 time(s)"])]
#[tokio::test]
async fn runs_with_calls_of_the_same_id_are_decided_one_by_one(
    #[case] watch: Watch,
    #[case] expected: &[&str],
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = model();
    let env = cache.environment::<Castle>()?.model(&model).agents((north, south)).start().await?;
    let handle = env.start_workflow(Castle::run, watch).await?;
    let agent = AgentHandle::new(env.client(), "castle-0");
    let waiting = state_when(&agent, "asking for both", |state| state.interruptions.len() == 2).await?;
    let id_of = |name: &str| {
        let asked = waiting.interruptions.iter().find(|asked| asked.agent == name);
        asked.map(|asked| asked.id.clone()).unwrap_or_default()
    };
    let mut ids = [id_of("north"), id_of("south")];
    // Without a cache, the worker may be given the answer that makes the run ask together with the decision on it.
    let answer = agent.approve(&*ids[0]).await?;
    assert!(answer.counts(), "{answer:?}");
    assert_eq!(agent.reject(&*ids[1], "no").await?, DecisionAnswer::Accepted);
    let done = timeout(crate::PATIENCE, handle.get_result(WorkflowGetResultOptions::default()));
    let done = done.await.map_err(|_| anyhow::anyhow!("a run has not got its decision"))??;
    assert_eq!(done, expected);
    ids.sort();
    assert_eq!(ids, ["call_0", "call_0#2"]);
    let status = agent.state().await?.status;
    assert_eq!(status, if watch == Watch::Both { RunStatus::Completed } else { RunStatus::Waiting });
    histories::<Castle>(&env, "castle-0").await?;
    env.finish().await?;
    Ok(())
}
