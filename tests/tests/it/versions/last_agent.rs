//! Chats that continue with the agent that answered last.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, Handoff, Runner,
    client::ChatHandle,
    run::RunInput,
    wire::{ChatOutcome, ChatRequest, Item, ModelCall},
    workflow::{AgentSet, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{Reply, handoff, text},
    history::History,
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::support::{Deploy, patches, replays};
use crate::{continuing::support::chain, examples::Cache, golden_history::recorded};

fn triage() -> Agent {
    let billing = Agent::new("billing").model("gpt-5").handoff(Handoff::to("triage"));
    Agent::new("triage").model("gpt-5").handoff(billing)
}

fn alone() -> Agent {
    Agent::new("triage").model("gpt-5")
}

/// Whoever is asked "on" hands off to the other one, if there is one; the answer is the agent's name.
fn speakers() -> FakeModel {
    FakeModel::function(|call: &ModelCall, _| -> Reply {
        let other = if call.agent == "triage" { "billing" } else { "triage" };
        let is_asked = call.input.last().and_then(Item::text).is_some_and(|text| text == "on")
            && !call.definitions.handoffs.is_empty();
        if is_asked { handoff(other) } else { text(&*call.agent) }
    })
}

fn set(start: fn() -> Agent, new_events: u32) -> AgentSet {
    AgentSet::new((start,)).continue_when(ContinueOptions::builder().new_events(new_events).build())
}

/// Who answers each message of a chat; the new build is deployed before the message of this number.
async fn played(
    cache: Cache,
    sets: [AgentSet; 2],
    (messages, deployed_before): (&[&str], usize),
    request: ChatRequest,
) -> anyhow::Result<(Vec<String>, Vec<History>)> {
    let factories = sets.clone().map(|set| Box::new(ChatWorkflow::factory(set)) as Box<dyn Fn() -> _ + Send + Sync>);
    let mut deploy = Deploy::of_sets::<ChatWorkflow>(cache, &speakers(), sets, factories).await?;
    let started = deploy.env.start_workflow(ChatWorkflow::run, request).await?;
    let id = started.info().workflow_id.clone();
    let mut answers = Vec::new();
    for (number, message) in (1..).zip(messages) {
        if number == deployed_before {
            deploy.now().await?;
        }
        let chat = ChatHandle::new(deploy.env.client(), &*id);
        match chat.send_as(format!("m{number}"), *message).await?.outcome {
            ChatOutcome::Answered { output } => answers.push(output.as_str().unwrap_or_default().to_owned()),
            other => answers.push(format!("{other:?}")),
        }
    }
    ChatHandle::new(deploy.env.client(), &*id).end().await?;
    deploy.env.await_run(&started).await?;
    let histories = chain(&deploy.env, &id).await?;
    deploy.env.finish().await?;
    Ok((answers, histories))
}

const MESSAGES: [&str; 4] = ["on", "who?", "on", "who?"];

async fn moved(cache: Cache, new_events: u32) -> anyhow::Result<Vec<History>> {
    let after = || set(triage, new_events).last_agent_continues();
    let sets = [set(triage, new_events), after()];
    let messages = ["on", "who?", "who?", "on", "who?", "on", "who?"];
    let (answers, histories) = Box::pin(played(cache, sets, (&messages, 4), ChatRequest::new("triage"))).await?;
    let before = ["billing", "triage", "triage"];
    assert_eq!(answers, [&before[..], &["billing", "billing", "triage", "triage"]].concat());
    for history in &histories {
        replays(history, ChatWorkflow::factory(after())).await?;
    }
    Ok(histories)
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_chat_continues_with_the_agent_that_answered_last(
    #[case] cache: Cache,
    // In one execution, and with a continue-as-new after each message.
    #[values(10_000, 0)] new_events: u32,
) -> anyhow::Result<()> {
    let after = || set(triage, new_events).last_agent_continues();
    let (answers, histories) =
        Box::pin(played(cache, [after(), after()], (&MESSAGES, 1), ChatRequest::new("triage"))).await?;
    assert_eq!(answers, ["billing", "billing", "triage", "triage"]);
    for history in &histories {
        replays(history, ChatWorkflow::factory(after())).await?;
    }
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn an_open_chat_follows_the_last_agent_from_the_deploy_on(
    #[case] cache: Cache,
    #[values(10_000, 0)] new_events: u32,
) -> anyhow::Result<()> {
    let patched: Vec<_> = Box::pin(moved(cache, new_events)).await?.iter().flat_map(patches).collect();
    let expected: &[&str] = if new_events == 0 { &[] } else { &["temporal-agents/chat-last-agent/message-5"] };
    assert!(patched.ends_with(&expected.iter().map(|&patch| patch.to_owned()).collect::<Vec<_>>()), "{patched:?}");
    Ok(())
}

#[tokio::test]
async fn the_history_of_a_chat_that_follows_the_last_agent_since_a_deploy_replays() -> anyhow::Result<()> {
    for history in
        Box::pin(recorded("v0.1", "chat_last_agent", async || Box::pin(moved(Cache::On, 10_000)).await)).await?
    {
        assert_eq!(patches(&history), ["temporal-agents/chat-last-agent/message-5"]);
        replays(&history, ChatWorkflow::factory(set(triage, 10_000).last_agent_continues())).await?;
    }
    Ok(())
}

#[rstest]
#[case::not_chosen(set(triage, 10_000), None, "triage")]
#[case::chosen_where_it_is_open(set(triage, 10_000).open_last_agent(), Some(true), "billing")]
#[case::not_chosen_where_it_is_open(set(triage, 10_000).open_last_agent(), None, "triage")]
#[case::declined(set(triage, 10_000).last_agent_continues(), Some(false), "triage")]
#[tokio::test]
async fn the_set_decides_and_callers_where_it_lets_them(
    #[case] set: AgentSet,
    #[case] chosen: Option<bool>,
    #[case] second: &str,
) -> anyhow::Result<()> {
    let mut request = ChatRequest::new("triage");
    request.last_agent_continues = chosen;
    let (answers, _) = Box::pin(played(Cache::On, [set.clone(), set], (&MESSAGES[..2], 1), request)).await?;
    assert_eq!(answers, ["billing", second]);
    Ok(())
}

#[tokio::test]
async fn a_caller_may_not_choose_it_where_the_set_does_not_let_callers() -> anyhow::Result<()> {
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(set(triage, 10_000)))?
        .model(&speakers())
        .agents((triage,))
        .start()
        .await?;
    let request = json!({"agent": "triage", "last_agent_continues": true});
    let run = env.run(ChatWorkflow::run, serde_json::from_value(request)?).await?;
    let message = "that messages begin with the agent that answered last is refused: the workflow's author decides \
                   that; AgentSet::open_last_agent permits callers to choose it (agent \"triage\")";
    assert_eq!(run.failure_chain(), [("AgentsWorkflowError".to_owned(), message.to_owned())]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn where_the_last_agent_is_gone_a_message_begins_with_the_start_agent() -> anyhow::Result<()> {
    let sets = [set(triage, 0).last_agent_continues(), set(alone, 0).last_agent_continues()];
    let (answers, _) = Box::pin(played(Cache::On, sets, (&MESSAGES[..2], 2), ChatRequest::new("triage"))).await?;
    assert_eq!(answers, ["billing", "triage"]);
    Ok(())
}

/// A chat by hand: each message begins with the agent that answered the one before.
#[workflow]
#[derive(Default)]
struct ByHand;

#[workflow_methods]
impl ByHand {
    #[run(name = "by_hand")]
    async fn run(ctx: &mut WorkflowContext<Self>, messages: Vec<String>) -> WorkflowResult<Vec<String>> {
        let runner = Runner::new(ctx);
        let (mut said, mut last_agent, mut answers) = (Vec::new(), String::new(), Vec::new());
        for message in messages {
            said.push(Item::user(message));
            let agent = triage().find(&last_agent).unwrap_or_else(triage);
            let result = runner.run(&agent, RunInput::from(said)).await?;
            said = result.to_input_list();
            last_agent = result.last_agent;
            answers.push(result.final_output);
        }
        Ok(answers)
    }
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_chat_by_hand_finds_the_last_agent_by_its_name(#[case] cache: Cache) -> anyhow::Result<()> {
    let env = cache.environment::<ByHand>()?.model(&speakers()).agents((triage,)).start().await?;
    let run = env.run(ByHand::run, MESSAGES.map(str::to_owned).to_vec()).await?;
    assert_eq!(run.output()?, ["billing", "billing", "triage", "triage"]);
    env.finish().await?;
    Ok(())
}
