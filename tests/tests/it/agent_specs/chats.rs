//! Chats with agents as data: one record for all messages.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    client::ChatHandle,
    wire::{ChatOutcome, ChatRequest, SpecRef},
    workflow::ChatWorkflow,
};
use temporal_agents_testing::{FakeModel, fake_model::text};

use super::{environment, instructions, set, store};
use crate::continuing::ready_made::histories;

#[rstest]
#[tokio::test]
async fn all_messages_of_a_chat_are_answered_by_the_version_that_it_started_with(
    #[values(true, false)] cached: bool,
    #[values(0, 10_000)] new_events: u32,
) -> anyhow::Result<()> {
    let (store, model) = (store(), FakeModel::script([text("one"), text("two"), text("three")]));
    let env = environment(&set(new_events), &store, cached)?.model(&model).start().await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::of_spec(SpecRef::newest("desk"))).await?;
    let id = started.info().workflow_id.clone();
    let chat = ChatHandle::new(env.client(), &*id);
    for answer in ["one", "two", "three"] {
        let reply = chat.send_as(answer, "Hello.").await?;
        assert_eq!(reply.outcome, ChatOutcome::Answered { output: json!(answer) });
        store.add("desk", json!({"model": "gpt-5", "instructions": "Another desk."}));
        store.clear();
    }
    chat.end().await?;
    assert_eq!(env.await_run(&started).await?.output()?, 3);
    assert_eq!(instructions(&model), ["You sort requests."; 3]);
    let histories = histories(&env, &id).await?;
    assert_eq!(histories.len() > 1, new_events == 0);
    assert_eq!(store.reads(), 2);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_takes_messages_while_its_store_is_away() -> anyhow::Result<()> {
    let (store, model) = (store(), FakeModel::script([text("one")]));
    store.fail_next(2);
    let env = environment(&set(10_000), &store, true)?.model(&model).start().await?;
    let started = env.start_workflow(ChatWorkflow::run, ChatRequest::of_spec(SpecRef::new("desk", 1))).await?;
    let chat = ChatHandle::new(env.client(), &*started.info().workflow_id);
    let reply = chat.send_as("m1", "Hello.").await?;
    assert_eq!(reply.outcome, ChatOutcome::Answered { output: json!("one") });
    chat.end().await?;
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_chat_of_an_unknown_spec_fails_and_says_why() -> anyhow::Result<()> {
    let env = environment(&set(10_000), &store(), true)?.model_provider(FakeModel::script([])).start().await?;
    let run = env.run(ChatWorkflow::run, ChatRequest::of_spec(SpecRef::newest("dsk"))).await?;
    let chain = run.failure_chain();
    assert!(chain[0].1.contains("the store has no agent \"dsk\"; did you mean \"desk\"?"), "{chain:?}");
    assert_eq!(run.failed_workflow_tasks(), 0);
    env.finish().await?;
    Ok(())
}
