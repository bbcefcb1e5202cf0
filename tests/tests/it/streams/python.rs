//! The official clients of the Python SDK with a workflow of this crate, and its host with the
//! clients of this crate.

use std::{process::Stdio, time::Duration};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    client::{AgentHandle, WorkflowStreamItems, WorkflowStreamPublisher},
    wire::AgentRequest,
    worker::WorkflowStreamDeltas,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel,
    fake_model::{text, tool_call},
    history,
};
use temporalio_client::{UntypedSignal, WorkflowSignalOptions, WorkflowStartOptions};
use temporalio_common::{UntypedWorkflow, data_converters::RawValue};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout},
    time::timeout,
};

use crate::PATIENCE;

use super::support::{Channel, Open, Order, Subscriber, environment, json_payload, offsets};
use crate::{
    continuing::support::careful_reader,
    examples::{Cache, histories},
    python_worker::{PythonWorker, command},
};

/// The lines that `streams.py` prints.
struct Lines {
    _process: Child,
    stdout: tokio::io::Lines<BufReader<ChildStdout>>,
}

impl Lines {
    /// Runs `streams.py` with these arguments.
    async fn of(env: &AgentEnvironment, arguments: &[&str]) -> anyhow::Result<Self> {
        let mut process = command(env, "streams.py").await?.args(arguments).stderr(Stdio::inherit()).spawn()?;
        let stdout = BufReader::new(process.stdout.take().expect("it is piped")).lines();
        Ok(Self { _process: process, stdout })
    }

    async fn next(&mut self) -> anyhow::Result<String> {
        let line = timeout(PATIENCE * 2, self.stdout.next_line()).await;
        let line = line.map_err(|_| anyhow::anyhow!("no line within {:?}", PATIENCE * 2))??;
        line.ok_or_else(|| anyhow::anyhow!("streams.py has ended"))
    }

    /// Returns the next items that a subscriber prints.
    async fn items(&mut self, count: usize) -> anyhow::Result<Vec<Value>> {
        let mut items = Vec::new();
        while items.len() < count {
            items.push(serde_json::from_str(&self.next().await?)?);
        }
        Ok(items)
    }
}

#[rstest]
#[case::with_the_workflow_cache(Cache::On)]
#[case::without_the_workflow_cache(Cache::Off)]
#[tokio::test]
async fn clients_of_the_python_sdk_read_and_write_a_stream_of_this_crate(#[case] cache: Cache) -> anyhow::Result<()> {
    let channel = Open::begin(cache).await?;
    let mut python = Lines::of(&channel.env, &["subscribe", &channel.id]).await?;
    let mut subscriber = Subscriber::of(channel.items());
    channel.order(Order::Publish(3)).await?;
    assert_eq!(Lines::of(&channel.env, &["publish", &channel.id, "5"]).await?.next().await?, "8");
    channel.order(Order::ContinueAsNew).await?;
    assert_eq!(Lines::of(&channel.env, &["publish", &channel.id, "4"]).await?.next().await?, "12");
    let mut seen = subscriber.next(12).await?;
    let mut items = python.items(12).await?;
    // Both have read the items that are truncated.
    channel.order(Order::Truncate(6)).await?;
    channel.order(Order::Publish(2)).await?;
    seen.extend(subscriber.next(2).await?);
    items.extend(python.items(2).await?);
    channel.order(Order::End).await?;
    seen.extend(subscriber.rest().await?);
    items.extend(python.items(1).await?);
    assert_eq!(python.next().await?, "end");

    assert_eq!(offsets(&seen), (0..15).collect::<Vec<_>>());
    let expected: Vec<Value> =
        seen.iter().map(|(offset, topic, data)| json!({"offset": offset, "topic": topic, "data": data})).collect();
    assert_eq!(items, expected);
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

#[tokio::test]
async fn a_subscriber_of_the_openai_plugin_of_python_reads_the_events_of_an_agent() -> anyhow::Result<()> {
    const TEXT: &str = "The lamp would not go out.";
    let reply = text(TEXT).chunk_size(5).chunk_pause(Duration::from_millis(30)).breaking_after(3);
    let call = tool_call("page", json!({"number": 1, "words": 1}));
    let model = FakeModel::script([call, reply]);
    let env = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((careful_reader,))))?
        .agents((careful_reader,))
        .model(&model)
        .plugin(|plugin| plugin.deltas(WorkflowStreamDeltas::new().openai_topic("events")))
        .start()
        .await?;
    let started = env.start_workflow(AgentWorkflow::run, AgentRequest::new("reader", "Read it to me.")).await?;
    let id = started.info().workflow_id.clone();
    let mut python = Lines::of(&env, &["openai", &id, "events"]).await?;
    let mut events: Vec<(String, String)> = Vec::new();
    loop {
        match &*python.next().await? {
            "end" => break,
            line => events.push(serde_json::from_str(line)?),
        }
        // The run waits until the subscriber is there, however long a Python process takes to start.
        if events.len() == 1 {
            let handle = AgentHandle::new(env.client(), &*id);
            let waiting = async {
                loop {
                    if let Some(call) = handle.state().await?.interruptions.first() {
                        return anyhow::Ok(call.id.clone());
                    }
                }
            };
            let call = timeout(PATIENCE, waiting).await??;
            handle.approve(call).await?;
        }
    }
    let kinds: Vec<&str> = events.iter().map(|(kind, _)| &**kind).collect();
    let begun = kinds.iter().filter(|kind| **kind == "response.created").count();
    let completed = kinds.iter().filter(|kind| **kind == "response.completed").count();
    assert_eq!((begun, completed), (3, 2), "both attempts of the last turn: {kinds:?}");
    let last = kinds.iter().rposition(|kind| *kind == "response.created").expect("it was counted above");
    let of_text = events[last..].iter().filter(|(kind, _)| kind == "response.output_text.delta");
    assert_eq!(of_text.map(|(_, delta)| &**delta).collect::<String>(), TEXT);
    env.await_run(&started).await?.output()?;
    env.replay(&history::fetch(env.client(), &id, None).await?).await?;
    env.finish().await?;
    Ok(())
}
