//! Tools of callers in a chat.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Tool,
    client::{AgentHandle, ChatHandle},
    wire::{ChatOutcome, ChatRequest, DecisionAnswer, InterruptionKind},
    workflow::{AgentSet, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
};

use tokio::time::timeout;

use crate::PATIENCE;

use super::{asks, no_secrets, pick_file, title};
use crate::{
    agent_handlers::support::{last_outputs, state_when_waiting},
    continuing::{ready_made::histories, support::chain},
    held_model::HeldModel,
};

fn editor() -> Agent {
    Agent::new("editor").model("gpt-5").tool(pick_file.output_guardrail(no_secrets()))
}

/// The editor in a chat that continues as new whenever it may.
async fn environment(model: &HeldModel, cached: bool) -> anyhow::Result<AgentEnvironment> {
    let set = || AgentSet::new((editor,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set()))?
        .model_provider(model.clone())
        .agents((editor,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    Ok(builder.start().await?)
}

/// Waits until the workflow is in its nth execution.
async fn until_executions(env: &AgentEnvironment, id: &str, executions: usize) -> anyhow::Result<()> {
    let looking = async {
        while chain(env, id).await?.len() < executions {}
        anyhow::Ok(())
    };
    let waited = timeout(PATIENCE, looking).await;
    waited.map_err(|_| anyhow::anyhow!("workflow {id} is not in execution {executions} within {PATIENCE:?}"))?
}

fn answered(text: &str) -> ChatOutcome {
    ChatOutcome::Answered { output: json!(text) }
}

#[rstest]
#[tokio::test]
async fn a_chat_waits_for_an_output_through_a_new_execution_and_takes_one_that_comes_early(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_call("pick_file", title("Minutes")),
        text("The minutes are filed."),
        tool_call("pick_file", title("Map")),
        text("The map is filed."),
    ]);
    let held = HeldModel::new(&model);
    let env = environment(&held, cached).await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("editor")).await?;
    let id = started.info().workflow_id.clone();
    let (agent, chat) = (AgentHandle::new(env.client(), &*id), ChatHandle::new(env.client(), &*id));

    // The output comes while the message is being answered, when the workflow has continued as new to wait for it.
    let file = async {
        held.asked().await?;
        held.answer();
        let asked = state_when_waiting(&agent).await?.interruptions;
        assert_eq!(asked, [asks("call_0_0", "pick_file", InterruptionKind::Output)]);
        until_executions(&env, &id, 2).await?;
        assert_eq!(agent.supply_output("call_0_0", json!({"path": "a.txt"})).await?, DecisionAnswer::Accepted);
        held.asked().await?;
        held.answer();
        anyhow::Ok(())
    };
    let (reply, filed) = tokio::join!(chat.send_as("m1", "File the minutes."), file);
    filed?;
    assert_eq!(reply?.outcome, answered("The minutes are filed."));

    // The output comes before the model has asked for it.
    let file = async {
        held.asked().await?;
        let kept = agent.supply_output("call_2_0", "the password is 1234").await?;
        assert_eq!(kept, DecisionAnswer::Kept { waits_for: Vec::new() });
        held.answer();
        held.asked().await?;
        held.answer();
        anyhow::Ok(())
    };
    let (reply, filed) = tokio::join!(chat.send_as("m2", "File the map."), file);
    filed?;
    assert_eq!(reply?.outcome, answered("The map is filed."));
    assert_eq!(last_outputs(&model), [r#"{"path":"a.txt"}"#, "(withheld)"].map(|text| json!(text)));

    let kinds: Vec<_> = chat.transcript().await?.items.iter().map(|item| item.kind().to_owned()).collect();
    let each = ["message", "function_call", "function_call_output", "message"];
    assert_eq!(kinds, [each, each].concat());
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 2);
    histories(&env, &id).await?;
    env.finish().await?;
    Ok(())
}
