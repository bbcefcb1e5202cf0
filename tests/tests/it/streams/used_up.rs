//! An execution that has had as many polls as it admits.
//!
//! The execution counts most of them without a request. `POLLS=1500` sends all, which takes two minutes.

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use temporal_agents::{client::AgentHandle, wire::DecisionAnswer};
use temporalio_client::{UntypedUpdate, WorkflowExecuteUpdateOptions, errors::WorkflowUpdateError};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue};

use super::support::{Channel, Open, Order, POLL, Subscriber, json_payload, offsets};
use crate::examples::{Cache, histories};

/// Number of polls that an execution admits.
const ADMITTED: u32 = 1_500;

/// Polls for the first item, which is there.
async fn poll(channel: &Open) -> Result<RawValue, WorkflowUpdateError> {
    let handle = channel.env.client().get_workflow_handle::<UntypedWorkflow>(&*channel.id);
    let input = RawValue::new(vec![json_payload(&json!({"from_offset": 0}))]);
    handle.execute_update(UntypedUpdate::new(POLL), input, WorkflowExecuteUpdateOptions::default()).await
}

#[tokio::test]
async fn decisions_are_admitted_after_many_polls() -> anyhow::Result<()> {
    let polls: u32 = std::env::var("POLLS").ok().and_then(|polls| polls.parse().ok()).unwrap_or(40);
    let channel = Open::begin_after(Cache::On, ADMITTED - polls).await?;
    channel.order(Order::Publish(1)).await?;
    // Polls of a closed stream are not delayed.
    channel.order(Order::Close).await?;
    let polls = stream::iter(0..polls).map(|_| poll(&channel)).buffer_unordered(8);
    polls.try_for_each(|_| async { Ok(()) }).await?;
    let refused = poll(&channel).await.expect_err("too many polls");
    assert!(format!("{refused:?}").contains("StreamPollsUsedUp"), "{refused:?}");
    let decided = AgentHandle::new(channel.env.client(), &*channel.id).approve("none").await?;
    assert!(matches!(decided, DecisionAnswer::Kept { .. }), "{decided:?}");
    // A subscriber reads by query, and polls again in the next execution.
    let mut reader = Subscriber::of(channel.items());
    assert_eq!(offsets(&reader.next(1).await?), [0]);
    channel.order(Order::Publish(2)).await?;
    assert_eq!(offsets(&reader.next(2).await?), [1, 2]);
    channel.order(Order::ContinueAsNew).await?;
    channel.order(Order::Publish(1)).await?;
    assert_eq!(offsets(&reader.next(1).await?), [3]);
    channel.order(Order::End).await?;
    assert_eq!(offsets(&reader.rest().await?), [4]);
    histories::<Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}
