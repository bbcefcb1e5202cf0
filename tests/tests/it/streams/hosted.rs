//! A stream of a workflow with handlers, read and written by the clients of this crate.

use rstest::rstest;
use serde_json::{Value, json};

use super::support::{Open, Order, Subscriber, offsets};
use crate::examples::{Cache, histories};

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_subscriber_sees_every_item_once_across_executions(#[case] cache: Cache) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    let mut subscriber = Subscriber::of(channel.items());
    let publisher = channel.publisher();
    channel.order(Order::Publish(2)).await?;
    let mut seen = subscriber.next(2).await?;
    for n in 0..3 {
        publisher.publish("client", &n)?;
    }
    publisher.flush().await?;
    seen.extend(subscriber.next(3).await?);
    channel.order(Order::ContinueAsNew).await?;
    channel.order(Order::Publish(1)).await?;
    publisher.publish_now("client", &3)?;
    publisher.close().await?;
    seen.extend(subscriber.next(2).await?);
    channel.order(Order::End).await?;
    seen.extend(subscriber.rest().await?);

    assert_eq!(offsets(&seen), (0..8).collect::<Vec<_>>());
    let of_client: Vec<Value> =
        seen.iter().filter(|(_, topic, _)| topic == "client").map(|(.., value)| value.clone()).collect();
    assert_eq!(of_client, [json!(0), json!(1), json!(2), json!(3)]);
    let (_, topic, value) = &seen[7];
    assert_eq!((&**topic, value), ("workflow", &json!("end")));
    assert_eq!(histories::<super::support::Channel>(&channel.env, &channel.id).await?.len(), 2);
    assert_eq!(channel.env.await_run(&channel.handle).await?.output()?, 8);
    channel.env.finish().await?;
    Ok(())
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn a_stream_of_a_workflow_that_has_ended_is_read_to_its_end(#[case] cache: Cache) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    let mut parked = Subscriber::of(channel.items());
    channel.order(Order::Publish(3)).await?;
    assert_eq!(offsets(&parked.next(3).await?), [0, 1, 2]);
    channel.order(Order::EndWithoutClosing).await?;
    assert_eq!(offsets(&parked.rest().await?), [3], "the poll that waited was lost");
    channel.env.await_run(&channel.handle).await?;
    let late = Subscriber::of(channel.items().from_offset(2)).rest().await?;
    assert_eq!(offsets(&late), [2, 3]);
    let none = Subscriber::of(channel.items().topics(["other"])).rest().await?;
    assert_eq!(none, []);
    histories::<super::support::Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_truncated_offset_continues_with_the_oldest_item() -> anyhow::Result<()> {
    let channel = Open::begin(Cache::On).await?;
    channel.order(Order::Publish(4)).await?;
    channel.order(Order::Truncate(2)).await?;
    channel.order(Order::Publish(1)).await?;
    // With this item, the truncation before it is done.
    Subscriber::of(channel.items().from_offset(4)).next(1).await?;
    let mut late = Subscriber::of(channel.items().from_offset(1));
    let mut new = Subscriber::of(channel.items());
    assert_eq!(offsets(&late.next(3).await?), [2, 3, 4]);
    assert_eq!(offsets(&new.next(3).await?), [2, 3, 4]);
    channel.order(Order::Truncate(5)).await?;
    channel.order(Order::End).await?;
    assert_eq!(offsets(&late.rest().await?), [5]);
    assert_eq!(offsets(&new.rest().await?), [5]);
    histories::<super::support::Channel>(&channel.env, &channel.id).await?;
    channel.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_workflow_that_does_not_exist_has_no_stream() -> anyhow::Result<()> {
    let channel = Open::begin(Cache::On).await?;
    let mut items = temporal_agents::client::WorkflowStreamItems::new(channel.env.client(), "nobody");
    let error = items.next().await.expect("an error").expect_err("there is no such workflow");
    assert_eq!(error.to_string(), "workflow \"nobody\" does not exist");
    assert!(items.next().await.is_none());
    let publisher = temporal_agents::client::WorkflowStreamPublisher::new(channel.env.client(), "nobody");
    publisher.publish("t", "x")?;
    let error = publisher.close().await.expect_err("there is no such workflow").to_string();
    assert!(error.starts_with("1 items were not published: "), "{error}");
    channel.order(Order::End).await?;
    channel.env.await_run(&channel.handle).await?;
    channel.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_publisher_refuses_what_it_cannot_send() -> anyhow::Result<()> {
    let channel = Open::begin(Cache::On).await?;
    let publisher = channel.publisher().batch_interval(std::time::Duration::from_mins(1));
    let error = publisher.publish("large", &"x".repeat(1_200_000)).expect_err("it has 1.6 MB in base64").to_string();
    assert!(error.contains("\"large\"") && error.contains("may have 1500000"), "{error}");
    let item = "x".repeat(1_000_000);
    let sent = (0..20).take_while(|_| publisher.publish("items", &item).is_ok()).count();
    assert_eq!(sent, 12, "16 MiB in base64");
    let error = publisher.publish("items", &item).expect_err("16 MiB wait").to_string();
    assert!(error.contains("await flush()"), "{error}");
    publisher.flush().await?;
    publisher.publish("items", "again")?;
    publisher.close().await?;
    channel.order(Order::End).await?;
    channel.env.await_run(&channel.handle).await?;
    channel.env.finish().await?;
    Ok(())
}
