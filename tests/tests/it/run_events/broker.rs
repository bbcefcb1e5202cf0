//! Tokens over a real Redis server: in other clients, for those who come later, and while the server is gone.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, ModelProvider,
    client::{RunEventStream, RunEvents},
    remote::transport::RedisTransport,
    wire::{AgentRequest, EventKind, RunEvent},
    worker::BrokerDeltas,
    workflow::{AgentSet, AgentWorkflow},
};
use temporal_agents_testing::{
    AgentEnvironment, FakeModel, RedisServer,
    environment::AgentEnvironmentBuilder,
    fake_model::{text, tool_call},
    history,
};
use temporalio_client::{ClientOptions, NamespacedClient, grpc::WorkflowService, tonic::IntoRequest};
use temporalio_common::protos::temporal::api::{
    common::v1::WorkflowExecution, workflowservice::v1::ResetWorkflowExecutionRequest,
};
use tokio::{process::Command, time::timeout};

use super::{
    live::{check, dig, kinds, texts},
    reading::all,
};
use crate::{
    PATIENCE,
    cipher::{Cipher, ciphered},
    stepped_model::SteppedModel,
};

const STORY: &str = "Once upon a time there was a lighthouse, and nobody knew who lit it.";
/// The number of its words.
const WORDS: usize = 14;

fn narrator() -> Agent {
    Agent::new("narrator").model("gpt-5").tool(dig)
}

fn request() -> AgentRequest {
    AgentRequest::new("narrator", "Tell me.")
}

fn over(redis: &RedisServer) -> anyhow::Result<BrokerDeltas> {
    Ok(BrokerDeltas::new(RedisTransport::new(&redis.url())?))
}

fn builder(
    model: impl ModelProvider + 'static,
    redis: Option<&RedisServer>,
) -> anyhow::Result<AgentEnvironmentBuilder> {
    let deltas = redis.map(over).transpose()?;
    let builder = AgentEnvironment::builder()
        .workflow_with_factory::<AgentWorkflow, _>(AgentWorkflow::factory(AgentSet::new((narrator,))))?
        .agent(narrator)
        .model_provider(model);
    Ok(match deltas {
        Some(deltas) => builder.plugin(|plugin| plugin.deltas(deltas)),
        None => builder,
    })
}

/// A reader with connections of its own, to both servers.
async fn reader(env: &AgentEnvironment, redis: &RedisServer) -> anyhow::Result<RunEvents> {
    Ok(RunEvents::new(&env.server().client().await?).deltas(over(redis)?))
}

/// Reads until the parts of a text are these; returns the events.
async fn until(stream: &mut RunEventStream, told: &str) -> anyhow::Result<Vec<RunEvent>> {
    let mut events = Vec::new();
    let reading = async {
        while texts(&events).last().is_none_or(|(_, text)| text != told) {
            let event = stream.next().await.ok_or_else(|| anyhow::anyhow!("ended before {told:?}: {events:?}"))??;
            events.push(event);
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, reading).await??;
    Ok(events)
}

/// The first words of the story.
fn words(number: usize) -> String {
    STORY.split_inclusive(' ').take(number).collect()
}

#[rstest]
#[case::unbroken(None)]
#[case::after_an_attempt_that_broke(Some(9))]
#[tokio::test]
async fn tokens_arrive_over_redis_in_other_clients_and_leave_no_trace_in_history(
    #[case] breaks: Option<usize>,
) -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let story = || text(STORY).chunk_size(3).chunk_pause(Duration::from_millis(30));
    let reply = breaks.map_or_else(story, |chunks| story().breaking_after(chunks));
    let env = builder(FakeModel::script([tool_call("dig", json!({})), reply]), Some(&redis))?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let (one, other) = (reader(&env, &redis).await?, reader(&env, &redis).await?);
    let readers = [&one, &one, &other].map(|events| all(events.watch_live(id.clone())));
    for events in try_join_all(readers).await? {
        check(&env, &id, &events).await?;
        let texts = texts(&events);
        assert!(texts.iter().all(|(_, text)| !text.is_empty() && STORY.starts_with(text)), "{texts:?}");
        let attempts: Vec<u32> = texts.iter().map(|(attempt, _)| *attempt).collect();
        assert_eq!(attempts, if breaks.is_some() { vec![1, 2] } else { vec![1] });
        let told = &texts.last().expect("a text").1;
        assert!(told.len() > STORY.len() / 2, "all but the end is told before the answer: {told:?}");
        let begun = |event: &RunEvent| match &event.kind {
            EventKind::AttemptDelta { effect, attempt, failure: None, .. } if effect == "2-model" => Some(*attempt),
            _ => None,
        };
        let begun: Vec<u32> = events.iter().filter_map(begun).collect();
        assert_eq!(begun.last(), attempts.last(), "{begun:?}");
        let progress = events.iter().filter(|event| event.kind.name() == "tool_output_delta").count();
        assert!(progress > 1, "the tool's progress was read");
    }
    env.await_run(&started).await?.output()?;
    let with = history::fetch(env.client(), &id, None).await?;
    env.replay(&with).await?;
    env.finish().await?;

    let env = builder(FakeModel::script([tool_call("dig", json!({})), text(STORY)]), None)?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    env.await_run(&started).await?.output()?;
    let without = history::fetch(env.client(), &started.info().workflow_id, None).await?;
    assert_eq!(kinds(&with), kinds(&without));
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_reader_who_comes_later_receives_the_message_from_its_beginning() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let model = SteppedModel::new(FakeModel::script([text(STORY)]), STORY);
    let env = builder(model.clone(), Some(&redis))?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let events = reader(&env, &redis).await?;
    let mut first = events.watch_live(id.clone());
    model.send(2);
    let mut seen = until(&mut first, &words(2)).await?;
    model.send(3);
    seen.extend(until(&mut first, &words(5)[words(2).len()..]).await?);
    // In the same process, and in another one, from the start and from a cursor.
    let other = reader(&env, &redis).await?;
    let cursor = seen.last().and_then(|event| event.cursor.clone()).expect("a cursor");
    let mut later =
        [events.watch_live(id.clone()), other.watch_live(id.clone()), other.watch_live_from(id.clone(), cursor)];
    for stream in &mut later {
        let begun = until(stream, &words(5)).await?;
        let ids = |events: &[RunEvent]| -> Vec<String> {
            events.iter().filter(|event| event.is_delta()).map(|event| event.id.clone()).collect()
        };
        assert_eq!(ids(&begun), ids(&seen), "the same deltas, with the same ids");
    }
    model.send(WORDS);
    for stream in later.into_iter().chain([first]) {
        let events = all(stream).await?;
        assert_eq!(events.last().map(|event| event.kind.name()), Some("run_finished"));
    }
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Outage {
    Killed,
    /// Takes requests, and does not answer.
    Silent,
}

impl Outage {
    async fn begin(self, redis: &mut RedisServer) -> anyhow::Result<()> {
        match self {
            Self::Killed => redis.kill(),
            Self::Silent => signal(redis, "-STOP").await?,
        }
        Ok(())
    }

    async fn end(self, redis: &mut RedisServer) -> anyhow::Result<()> {
        match self {
            Self::Killed => redis.restart().await?,
            Self::Silent => signal(redis, "-CONT").await?,
        }
        Ok(())
    }
}

async fn signal(redis: &RedisServer, signal: &str) -> anyhow::Result<()> {
    let pid = redis.pid().ok_or_else(|| anyhow::anyhow!("no process"))?.to_string();
    let sent = Command::new("kill").args([signal, &pid]).status().await?;
    anyhow::ensure!(sent.success(), "{signal} was not sent");
    Ok(())
}

#[rstest]
#[tokio::test]
async fn a_redis_server_that_is_gone_costs_deltas_and_nothing_else(
    #[values(Outage::Killed, Outage::Silent)] outage: Outage,
) -> anyhow::Result<()> {
    let mut redis = RedisServer::start().await?;
    let script = [text(STORY).and(tool_call("dig", json!({}))), text(STORY)];
    let model = SteppedModel::new(FakeModel::script(script), STORY);
    let env = builder(model.clone(), Some(&redis))?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let events = reader(&env, &redis).await?;
    let mut stream = events.watch_live(id.clone());
    model.send(3);
    let mut seen = until(&mut stream, &words(3)).await?;
    outage.begin(&mut redis).await?;
    // The rest of the first answer.
    let begun = Instant::now();
    model.send(WORDS - 3);
    let answered = |events: &[RunEvent]| events.iter().any(|event| event.kind.name() == "model_call_answered");
    while !answered(&seen) {
        seen.push(timeout(PATIENCE, stream.next()).await?.expect("an event")?);
    }
    let lasted = begun.elapsed();
    assert!(lasted < Duration::from_secs(4), "the call waits for no broker: {lasted:?}");
    // The next call of the run is read from the server that is there again: after a kill, empty.
    outage.end(&mut redis).await?;
    model.send(4);
    seen.extend(until(&mut stream, &words(4)).await?);
    model.send(WORDS);
    seen.extend(all(stream).await?);
    check(&env, &id, &seen).await?;
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_run_without_its_redis_server_has_all_facts() -> anyhow::Result<()> {
    let mut redis = RedisServer::start().await?;
    let env = builder(FakeModel::script([tool_call("dig", json!({})), text(STORY).chunk_size(3)]), Some(&redis))?;
    let env = env.start().await?;
    redis.kill();
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let events = all(reader(&env, &redis).await?.watch_live(id.clone())).await?;
    check(&env, &id, &events).await?;
    assert_eq!(texts(&events), []);
    assert_eq!(env.await_run(&started).await?.output()?, STORY);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn redis_holds_what_the_codec_of_the_workers_makes_of_deltas_and_for_a_time() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let model = SteppedModel::new(FakeModel::script([text(STORY)]), STORY);
    let env = builder(model.clone(), Some(&redis))?.data_converter(ciphered(Cipher(7))).start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    model.send(WORDS - 1);
    let options = ClientOptions::new(env.server().namespace()).data_converter(ciphered(Cipher(7))).build();
    let with_key = RunEvents::new(&env.server().client_with(options).await?).deltas(over(&redis)?);
    until(&mut with_key.watch_live(id.clone()), &words(WORDS - 1)).await?;
    let mut connection = redis::Client::open(redis.url())?.get_multiplexed_async_connection().await?;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await?;
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert!(keys[0].starts_with("pulse:stream:deltas:") && !keys[0].contains(&*id), "{keys:?}");
    let dump: Vec<u8> = redis::cmd("DUMP").arg(&keys[0]).query_async(&mut connection).await?;
    for secret in ["Once", "lighthouse", "text_delta", "narrator"] {
        assert!(!dump.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "{secret} is readable");
    }
    let left: i64 = redis::cmd("PTTL").arg(&keys[0]).query_async(&mut connection).await?;
    assert!((1..=300_000).contains(&left), "{left}");
    // A reader without the key, and one that is not told of the server, have the facts.
    let without_key = reader(&env, &redis).await?;
    let of_heartbeats = RunEvents::new(&env.server().client().await?);
    let streams = [without_key.watch_live(id.clone()), of_heartbeats.watch_live(id.clone())];
    model.send(1);
    for events in try_join_all(streams.map(all)).await? {
        assert_eq!(texts(&events), []);
        assert_eq!(events.last().map(|event| event.kind.name()), Some("run_finished"));
    }
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn redis_holds_a_bounded_part_of_a_long_answer() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let answer = "x".repeat(1_600_000);
    let long = text(&*answer).chunk_size(40_000).chunk_pause(Duration::from_millis(60));
    let env = builder(FakeModel::script([long]), Some(&redis))?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let events = all(reader(&env, &redis).await?.watch_live(id.clone())).await?;
    let told: usize = texts(&events).iter().map(|(_, text)| text.len()).sum();
    assert!(told > 1_100_000, "a reader that is there receives more than Redis holds: {told}");
    let mut connection = redis::Client::open(redis.url())?.get_multiplexed_async_connection().await?;
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query_async(&mut connection).await?;
    let bytes: usize = redis::cmd("MEMORY").arg("USAGE").arg(&keys[0]).query_async(&mut connection).await?;
    assert!((500_000..1_500_000).contains(&bytes), "{bytes}");
    env.await_run(&started).await?.output()?;
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn after_a_reset_the_tokens_are_those_of_the_new_execution() -> anyhow::Result<()> {
    let redis = RedisServer::start().await?;
    let model = SteppedModel::new(FakeModel::function(|_, _| text(STORY)), STORY);
    let env = builder(model.clone(), Some(&redis))?.start().await?;
    let started = env.start_workflow(AgentWorkflow::run, request()).await?;
    let id = started.info().workflow_id.clone();
    let mut stream = reader(&env, &redis).await?.watch_live(id.clone());
    model.send(3);
    let mut seen = until(&mut stream, &words(3)).await?;
    reset(&env, &id).await?;
    // The activity of the execution before may take words until it learns that it was given up.
    let is_of_reset = |event: &RunEvent| event.id.contains('~') && event.kind.name() == "text_delta";
    while !seen.iter().any(is_of_reset) {
        model.send(1);
        if let Ok(event) = timeout(Duration::from_millis(300), stream.next()).await {
            seen.push(event.expect("an event")?);
        }
    }
    model.send(2 * WORDS);
    seen.extend(all(stream).await?);
    let reset = seen.iter().position(|event| event.kind.name() == "run_reset").expect("the reset");
    let (before, after) = seen.split_at(reset);
    assert!(before.iter().all(|event| !event.id.contains('~')), "{before:?}");
    assert!(after.iter().filter(|event| event.is_delta()).all(|event| event.id.contains('~')), "{after:?}");
    assert!(texts(after).iter().all(|(_, text)| STORY.starts_with(text)), "{after:?}");
    assert_eq!(after.last().map(|event| event.kind.name()), Some("run_finished"));
    let facts: Vec<_> = seen.into_iter().filter(|event| !event.is_delta()).collect();
    assert_eq!(facts, all(RunEvents::new(env.client()).watch(id)).await?);
    env.finish().await?;
    Ok(())
}

/// Resets a workflow to its first task.
async fn reset(env: &AgentEnvironment, id: &str) -> anyhow::Result<()> {
    let history = history::fetch(env.client(), id, None).await?;
    let is_task = |kind: &str| kind == "EVENT_TYPE_WORKFLOW_TASK_COMPLETED";
    let task = history.events.iter().find(|event| is_task(event.event_type().as_str_name())).expect("a task");
    let request = ResetWorkflowExecutionRequest {
        namespace: env.client().namespace(),
        workflow_execution: Some(WorkflowExecution { workflow_id: id.to_owned(), run_id: String::new() }),
        reason: "again".to_owned(),
        workflow_task_finish_event_id: task.event_id,
        request_id: "reset-1".to_owned(),
        ..ResetWorkflowExecutionRequest::default()
    };
    WorkflowService::reset_workflow_execution(&mut env.client().clone(), request.into_request()).await?;
    Ok(())
}
