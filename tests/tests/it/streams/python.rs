//! The official clients of the Python SDK with a workflow of this crate, and its host with the clients of this crate.

use std::process::Output;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::client::{WorkflowStreamItems, WorkflowStreamPublisher};
use temporal_agents_testing::AgentEnvironment;
use temporalio_client::{UntypedSignal, WorkflowSignalOptions, WorkflowStartOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue};
use tokio::{task::JoinHandle, time::timeout};

use super::support::{Channel, Open, Order, PATIENCE, Subscriber, environment, json_payload, offsets};
use crate::{
    examples::{Cache, histories},
    python_worker::{PythonWorker, command},
};

/// Runs `streams.py` to its end, and returns the lines that it prints.
async fn python(env: &AgentEnvironment, arguments: &[&str]) -> anyhow::Result<JoinHandle<anyhow::Result<Vec<String>>>> {
    let mut command = command(env, "streams.py").await?;
    command.args(arguments);
    Ok(tokio::spawn(async move {
        let output = timeout(PATIENCE * 2, command.output()).await??;
        let Output { status, stdout, stderr } = output;
        anyhow::ensure!(status.success(), "{}", String::from_utf8_lossy(&stderr));
        Ok(String::from_utf8(stdout)?.lines().map(str::to_owned).collect())
    }))
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn clients_of_the_python_sdk_read_and_write_a_stream_of_this_crate(#[case] cache: Cache) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    let reading = python(&channel.env, &["subscribe", &channel.id]).await?;
    let mut subscriber = Subscriber::of(channel.items());
    channel.order(Order::Publish(3)).await?;
    assert_eq!(python(&channel.env, &["publish", &channel.id, "5"]).await?.await??, ["8"]);
    channel.order(Order::ContinueAsNew).await?;
    assert_eq!(python(&channel.env, &["publish", &channel.id, "4"]).await?.await??, ["12"]);
    let mut seen = subscriber.next(12).await?;
    channel.order(Order::Truncate(6)).await?;
    channel.order(Order::Publish(2)).await?;
    seen.extend(subscriber.next(2).await?);
    channel.order(Order::End).await?;
    seen.extend(subscriber.rest().await?);
    let lines = reading.await??;

    assert_eq!(offsets(&seen), (0..15).collect::<Vec<_>>());
    let mut expected: Vec<Value> =
        seen.iter().map(|(offset, topic, data)| json!({"offset": offset, "topic": topic, "data": data})).collect();
    let (end, items) = lines.split_last().expect("it has printed something");
    assert_eq!(end, "end");
    let items: Vec<Value> = items.iter().map(|line| serde_json::from_str(line)).collect::<Result<_, _>>()?;
    // A subscriber that begins after the truncation sees what is left.
    expected.drain(..expected.len() - items.len());
    assert_eq!(items, expected);
    assert!(items.len() >= 9, "{items:?}");
    let of_python: Vec<&Value> =
        seen.iter().filter(|(_, topic, _)| topic == "python").map(|(.., value)| value).collect();
    let numbers = [0, 1, 2, 3, 4, 0, 1, 2, 3].map(|n| json!({"n": n}));
    assert_eq!(of_python, numbers.iter().collect::<Vec<_>>());
    assert_eq!(histories::<Channel>(&channel.env, &channel.id).await?.len(), 2);
    channel.env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn clients_of_this_crate_read_and_write_a_stream_of_the_python_sdk() -> anyhow::Result<()> {
    let env = environment(Cache::On).await?;
    let _worker = PythonWorker::of(command(&env, "streams.py").await?.args(["host", "python"])).await?;
    let (id, client) = ("py-channel", env.client());
    let start = WorkflowStartOptions::new("python", id).build();
    client.start_workflow(UntypedWorkflow::new("py_channel"), RawValue::new(Vec::new()), start).await?;
    // Not the handle of the start, which keeps to the first execution.
    let handle = client.get_workflow_handle::<UntypedWorkflow>(id);
    let order = async |kind: &str, number: u32| {
        let input = RawValue::new(vec![json_payload(&json!([kind, number]))]);
        handle.signal(UntypedSignal::new("order"), input, WorkflowSignalOptions::default()).await
    };
    let mut subscriber = Subscriber::of(WorkflowStreamItems::new(client, id));
    let publisher = WorkflowStreamPublisher::new(client, id);
    order("publish", 3).await?;
    let mut seen = subscriber.next(3).await?;
    publisher.publish("rust", &json!({"n": 0}))?;
    publisher.publish("rust", &json!({"n": 1}))?;
    publisher.flush().await?;
    seen.extend(subscriber.next(2).await?);
    order("truncate", 2).await?;
    // The host fails this poll with TruncatedOffset.
    let mut late = Subscriber::of(WorkflowStreamItems::new(client, id).from_offset(1).topics(["events"]));
    assert_eq!(offsets(&late.next(1).await?), [2]);
    order("continue", 0).await?;
    publisher.publish_now("rust", &json!({"n": 2}))?;
    publisher.close().await?;
    seen.extend(subscriber.next(1).await?);
    order("publish", 1).await?;
    order("end", 0).await?;
    seen.extend(subscriber.rest().await?);
    assert_eq!(offsets(&seen), (0..7).collect::<Vec<_>>());
    assert_eq!(offsets(&late.rest().await?), [6]);
    let of_rust: Vec<&Value> = seen.iter().filter(|(_, topic, _)| topic == "rust").map(|(.., value)| value).collect();
    assert_eq!(of_rust, [&json!({"n": 0}), &json!({"n": 1}), &json!({"n": 2})]);
    env.finish().await?;
    Ok(())
}
