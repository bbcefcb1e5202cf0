//! More polls than the server admits, from clients that are gone.

use rstest::rstest;
use serde_json::json;
use temporal_agents_testing::history;
use temporalio_client::{UntypedUpdate, WorkflowStartUpdateOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue, protos::temporal::api::enums::v1::EventType};

use crate::PATIENCE;

use super::support::{Channel, Open, Order, POLL, Subscriber, json_payload, offsets};
use crate::examples::{Cache, Played, histories};

/// Sends this number of polls for the item after the first, and reads no results.
fn abandon(channel: &Open, polls: usize) {
    for _ in 0..polls {
        let handle = channel.env.client().get_workflow_handle::<UntypedWorkflow>(&*channel.id);
        tokio::spawn(async move {
            let input = RawValue::new(vec![json_payload(&json!({"from_offset": 1}))]);
            let _ = handle.start_update(UntypedUpdate::new(POLL), input, WorkflowStartUpdateOptions::default()).await;
        });
    }
}

/// Returns the number of events of this type in the workflow's history.
async fn count(channel: &Open, kind: EventType) -> anyhow::Result<usize> {
    let history = history::fetch(channel.env.client(), &channel.id, None).await?;
    Ok(history.events.iter().filter(|event| event.event_type() == kind).count())
}

async fn wait_for(channel: &Open, kind: EventType, least: usize) -> anyhow::Result<()> {
    let waiting = async {
        while count(channel, kind).await? < least {}
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, waiting).await.map_err(|_| anyhow::anyhow!("fewer than {least} {kind:?}"))?
}

/// Plays the run whose histories are golden: six polls for four places, and an item of a publisher.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Played<u64>> {
    let channel = Open::begin(cache).await?;
    channel.order(Order::Publish(1)).await?;
    abandon(&channel, 6);
    wait_for(&channel, EventType::WorkflowExecutionUpdateAccepted, 6).await?;
    let publisher = channel.publisher();
    publisher.publish("client", &json!("an item"))?;
    publisher.flush().await?;
    let mut reader = Subscriber::of(channel.items());
    assert_eq!(offsets(&reader.next(2).await?), [0, 1]);
    channel.order(Order::End).await?;
    assert_eq!(offsets(&reader.rest().await?), [2]);
    let run = channel.env.await_run(&channel.handle).await?;
    let histories = histories::<Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(Played { output: run.output()?, histories, calls: Vec::new() })
}

/// On replay, a task without commands is read together with the one that accepts the first polls.
#[rstest]
#[tokio::test]
async fn a_newcomer_is_served_after_twelve_subscribers_that_are_gone(
    #[values(Cache::On, Cache::Off)] cache: Cache,
    #[values(false, true)] after_a_task_without_commands: bool,
) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    channel.order(Order::Publish(1)).await?;
    if after_a_task_without_commands {
        wait_for(&channel, EventType::WorkflowTaskCompleted, 1).await?;
    }
    abandon(&channel, 12);
    wait_for(&channel, EventType::WorkflowExecutionUpdateAccepted, 10).await?;
    let mut newcomer = Subscriber::of(channel.items());
    assert_eq!(offsets(&newcomer.next(1).await?), [0]);
    channel.order(Order::Publish(1)).await?;
    assert_eq!(offsets(&newcomer.next(1).await?), [1]);
    channel.order(Order::End).await?;
    assert_eq!(offsets(&newcomer.rest().await?), [2]);
    assert!(count(&channel, EventType::TimerFired).await? > 0);
    histories::<Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn polls_within_the_budget_need_no_timer() -> anyhow::Result<()> {
    let channel = Open::begin(Cache::On).await?;
    channel.order(Order::Publish(1)).await?;
    abandon(&channel, 4);
    wait_for(&channel, EventType::WorkflowExecutionUpdateAccepted, 4).await?;
    channel.order(Order::Publish(1)).await?;
    wait_for(&channel, EventType::WorkflowExecutionUpdateCompleted, 4).await?;
    channel.order(Order::End).await?;
    channel.env.await_run(&channel.handle).await?;
    assert_eq!(count(&channel, EventType::TimerStarted).await?, 0);
    histories::<Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}
