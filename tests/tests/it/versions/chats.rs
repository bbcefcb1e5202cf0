//! Chats over a deploy of another version of their agent.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::{AgentHandle, ChatHandle},
    wire::{ChatOutcome, ChatRequest},
    workflow::{AgentSet, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::history::History;

use super::support::{Deploy, after, before, clerk, patches, replays};
use crate::{
    agent_handlers::support::{answer_to, state_when_waiting},
    continuing::support::chain,
    examples::Cache,
    golden_history::recorded,
};

fn continuing(set: AgentSet, new_events: u32) -> AgentSet {
    set.continue_when(ContinueOptions::builder().new_events(new_events).build())
}

/// Says something to a chat, deploys while its order waits for approval, if that is asked for, and approves.
async fn said(deploy: &mut Deploy, id: &str, number: u32, deploys: bool) -> anyhow::Result<ChatOutcome> {
    let chat = ChatHandle::new(deploy.env.client(), id);
    let desk = AgentHandle::new(deploy.env.client(), id);
    let approve = async {
        let waiting = state_when_waiting(&desk).await?;
        if deploys {
            deploy.now().await?;
        }
        answer_to(async || desk.approve(&waiting.interruptions[0].id).await).await?;
        anyhow::Ok(())
    };
    let (reply, approved) = tokio::join!(chat.send_as(format!("m{number}"), "A pen, please."), approve);
    approved?;
    Ok(reply?.outcome)
}

/// A chat of four messages; the new build is deployed while the second one is answered. Its histories.
async fn played(cache: Cache, new_events: u32) -> anyhow::Result<Vec<History>> {
    let sets = [before(), after()].map(|set| continuing(set, new_events));
    let factories = sets.clone().map(|set| Box::new(ChatWorkflow::factory(set)) as Box<dyn Fn() -> _ + Send + Sync>);
    let mut deploy = Deploy::of_sets::<ChatWorkflow>(cache, &clerk(), sets, factories).await?;
    let started = deploy.env.start_workflow(ChatWorkflow::run, ChatRequest::new("desk")).await?;
    let id = started.info().workflow_id.clone();
    let mut outcomes = Vec::new();
    for number in 1..=4 {
        outcomes.push(said(&mut deploy, &id, number, number == 2).await?);
    }
    let [old, new] =
        ["pen is ordered", "pen is ordered, as it is"].map(|output| ChatOutcome::Answered { output: json!(output) });
    assert_eq!(outcomes, [old.clone(), old, new.clone(), new]);
    ChatHandle::new(deploy.env.client(), &*id).end().await?;
    deploy.env.await_run(&started).await?;
    let histories = chain(&deploy.env, &id).await?;
    for history in &histories {
        replays(history, ChatWorkflow::factory(continuing(after(), new_events))).await?;
    }
    deploy.env.finish().await?;
    Ok(histories)
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn an_open_chat_moves_to_the_newest_agents_with_its_next_message(#[case] cache: Cache) -> anyhow::Result<()> {
    let histories = Box::pin(played(cache, 10_000)).await?;
    assert_eq!(histories.len(), 1);
    assert_eq!(patches(&histories[0]), ["details/message-3"]);
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_message_keeps_its_agents_when_the_chat_continues_as_new(#[case] cache: Cache) -> anyhow::Result<()> {
    let histories = Box::pin(played(cache, 0)).await?;
    assert!(histories.len() > 4, "{} histories", histories.len());
    let patched: Vec<_> = histories.iter().flat_map(patches).collect();
    assert_eq!(patched, ["details/message-3", "details/message-4"]);
    Ok(())
}

#[tokio::test]
async fn the_history_of_a_chat_that_has_moved_replays() -> anyhow::Result<()> {
    let histories =
        Box::pin(recorded("v0.1", "chat_version", async || Box::pin(played(Cache::On, 10_000)).await)).await?;
    for history in histories {
        assert_eq!(patches(&history), ["details/message-3"]);
        replays(&history, ChatWorkflow::factory(after())).await?;
    }
    Ok(())
}
