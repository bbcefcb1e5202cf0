//! Streams of the ready-made workflows, which continue as new by themselves.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::{ChatHandle, WorkflowStreamItems, WorkflowStreamPublisher},
    wire::{AgentRequest, ChatRequest},
    workflow::{AgentSet, AgentWorkflow, ChatWorkflow, ContinueOptions},
};
use temporal_agents_testing::{AgentEnvironment, FakeModel, fake_model::text};

use super::support::{Subscriber, offsets};
use crate::{
    continuing::support::{chain, pages, reader},
    held_model::HeldModel,
};

/// Returns the offsets of the oldest items in the stream.
async fn kept(env: &AgentEnvironment, id: &str, least: usize) -> anyhow::Result<Vec<u64>> {
    Ok(offsets(&Subscriber::of(WorkflowStreamItems::new(env.client(), id)).next(least).await?))
}

#[rstest]
#[tokio::test]
async fn a_stream_goes_with_the_run_and_forgets_the_events_of_earlier_turns(
    #[values(true, false)] cached: bool,
) -> anyhow::Result<()> {
    let held = HeldModel::new(&pages(2));
    let set = AgentSet::new((reader,)).continue_when(ContinueOptions::builder().new_events(0).build());
    let mut builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(set))?
        .model_provider(held.clone())
        .agents((reader,));
    if !cached {
        builder = builder.without_workflow_cache();
    }
    let env = builder.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("reader", "Read it to me.")).await?;
    let id = started.info().workflow_id.clone();
    let mut subscriber = Subscriber::of(WorkflowStreamItems::new(env.client(), &*id));
    let publisher = WorkflowStreamPublisher::new(env.client(), &*id);
    let mut seen = Vec::new();
    for turn in 1..=3 {
        held.asked().await?;
        publisher.publish("run_events", &json!({"turn": turn}))?;
        if turn == 1 {
            publisher.publish("status", "of another topic")?;
        }
        publisher.flush().await?;
        let expected: &[u64] = match turn {
            1 => &[0, 1],
            2 => &[0, 1, 2],
            // With the second answer, what came before the first one is dropped.
            _ => &[1, 2, 3],
        };
        assert_eq!(kept(&env, &id, expected.len()).await?, expected, "turn {turn}");
        // Read in time: a later answer drops what was published before this one.
        seen.extend(offsets(&subscriber.next(if turn == 1 { 2 } else { 1 }).await?));
        held.answer();
    }
    assert_eq!(seen, [0, 1, 2, 3]);
    assert_eq!(subscriber.rest().await?, []);
    let handle = env.client().get_workflow_handle::<AgentWorkflow>(&*id);
    assert_eq!(env.await_run(&handle).await?.output()?, json!("The end."));
    let histories = chain(&env, &id).await?;
    assert_eq!(histories.len(), 3);
    for history in &histories {
        env.replay(history).await?;
    }
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_ends_although_a_subscriber_waits() -> anyhow::Result<()> {
    let model = FakeModel::script([text("Hello.")]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<ChatWorkflow, _>(ChatWorkflow::factory(AgentSet::new((reader,))))?
        .model(&model)
        .agents((reader,))
        .start()
        .await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::new("reader")).await?;
    let id = started.info().workflow_id.clone();
    let mut subscriber = Subscriber::of(WorkflowStreamItems::new(env.client(), &*id));
    let publisher = WorkflowStreamPublisher::new(env.client(), &*id);
    publisher.publish_now("status", "begins")?;
    publisher.close().await?;
    assert_eq!(offsets(&subscriber.next(1).await?), [0]);
    let chat = ChatHandle::new(env.client(), &*id);
    chat.send("Hi.").await?;
    chat.end().await?;
    assert_eq!(subscriber.rest().await?, []);
    let handle = env.client().get_workflow_handle::<ChatWorkflow>(&*id);
    assert_eq!(env.await_run(&handle).await?.output()?, 1);
    env.finish().await?;
    Ok(())
}
