//! Tokens of runs that are tasks, at processes that do not run them: over memory, over Redis, and
//! while Redis is gone.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    ModelProvider,
    in_process::InProcessRuns,
    remote::transport::{MemoryTransport, RedisTransport},
    store::SqlStore,
    worker::BrokerDeltas,
};
use temporal_agents_testing::{
    FakeModel, RedisServer,
    fake_model::{text, tool_calls},
};
use tokio::time::timeout;

use super::support::{Database, Watching, kinds, post, service, set};
use crate::{PATIENCE, logs, stepped_model::SteppedModel};

const STORY: &str = "Once upon a time there was a lighthouse, and nobody knew who lit it.";
/// The number of its words.
const WORDS: usize = 14;

/// The brokers.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Memory,
    Redis,
}

/// The tasks of a new process, with this model and this broker.
async fn process(
    database: &Database,
    model: impl ModelProvider + 'static,
    deltas: BrokerDeltas,
) -> anyhow::Result<InProcessRuns> {
    let store = SqlStore::connect(&database.url).await?;
    Ok(InProcessRuns::new(store, set(), model).lease(Duration::from_secs(20)).deltas(deltas))
}

fn over(redis: &RedisServer) -> anyhow::Result<BrokerDeltas> {
    Ok(BrokerDeltas::new(RedisTransport::new(&redis.url())?))
}

/// A model that calls tools, and then tells the story. It sends the words before both answers.
fn narrator() -> SteppedModel {
    let prices = ["tea", "cup", "moon"].map(|article| ("price", json!({"article": article})));
    SteppedModel::new(FakeModel::script([tool_calls(prices), text(STORY)]), STORY)
}

fn nobody() -> FakeModel {
    FakeModel::script([])
}

const RUN: &str = "/runs/run-1/events";

fn new() -> Value {
    json!({"agent": "clerk", "input": "Tell me.", "id": "run-1"})
}

/// The part of a stream that has this word of the story.
fn word(number: usize) -> String {
    let word = STORY.split_inclusive(' ').nth(number).expect("a word of the story");
    format!("\"delta\":{}", json!(word))
}

/// The texts of the parts of messages, by the ids of the messages.
fn texts(events: &[Value]) -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for event in events.iter().filter(|event| event["kind"] == "text_delta") {
        let (message, part) = (event["message_id"].as_str().unwrap_or(""), event["delta"].as_str().unwrap_or(""));
        match texts.last_mut() {
            Some((last, text)) if last == message => text.push_str(part),
            _ => texts.push((message.to_owned(), part.to_owned())),
        }
    }
    texts
}

fn facts(events: &[Value]) -> Vec<&Value> {
    let is_fact = |event: &&Value| event["kind"].as_str().is_some_and(|kind| !kind.ends_with("delta"));
    events.iter().filter(is_fact).collect()
}

#[rstest]
#[tokio::test]
async fn another_process_sees_the_deltas_of_the_owner(
    #[values(Kind::Memory, Kind::Redis)] kind: Kind,
) -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let (memory, redis) = (MemoryTransport::new(), RedisServer::start().await?);
    let broker = || match kind {
        Kind::Memory => Ok(BrokerDeltas::new(memory.clone())),
        Kind::Redis => over(&redis),
    };
    let model = narrator();
    let owner = service(&process(&database, model.clone(), broker()?).await?);
    let [replica, later] =
        [process(&database, nobody(), broker()?).await?, process(&database, nobody(), broker()?).await?]
            .map(|tasks| service(&tasks));
    post(&owner, "/runs", &new()).await?;
    let mut at_owner = Watching::open(&owner, RUN).await?;
    let mut at_replica = Watching::open(&replica, RUN).await?;
    model.send(3);
    at_owner.until(&word(2)).await?;
    at_replica.until(&word(2)).await?;
    // A reader that begins in the middle of a message receives it from its beginning.
    let mut begins_later = Watching::open(&later, RUN).await?;
    begins_later.until(&word(2)).await?;
    model.send(2 * WORDS);
    let told = at_owner.end().await?;
    assert_eq!(texts(&told).iter().map(|(_, text)| &**text).collect::<Vec<_>>(), [STORY, STORY]);
    assert_eq!(at_replica.end().await?, told);
    assert_eq!(begins_later.end().await?, told);
    Ok(())
}

#[tokio::test]
async fn a_text_without_its_beginning_is_not_passed_on() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let memory = MemoryTransport::new();
    let broker = BrokerDeltas::new(memory.clone());
    let model = narrator();
    let owner = service(&process(&database, model.clone(), broker.clone()).await?);
    let [replica, later] =
        [process(&database, nobody(), broker.clone()).await?, process(&database, nobody(), broker).await?]
            .map(|tasks| service(&tasks));
    post(&owner, "/runs", &new()).await?;
    let mut at_replica = Watching::open(&replica, RUN).await?;
    model.send(3);
    at_replica.until(&word(2)).await?;
    // As a broker that has started again.
    memory.clear();
    model.send(3);
    at_replica.until(&word(5)).await?;
    let mut begins_later = Watching::open(&later, RUN).await?;
    begins_later.until("1-model").await?;
    model.send(2 * WORDS);
    let (told, seen) = tokio::try_join!(at_replica.end(), begins_later.end())?;
    assert_eq!(texts(&told).iter().map(|(_, text)| &**text).collect::<Vec<_>>(), [STORY, STORY]);
    // The reader who was not there has the second answer only.
    assert_eq!(texts(&seen).iter().map(|(_, text)| &**text).collect::<Vec<_>>(), [STORY]);
    assert_eq!(facts(&seen), facts(&told));
    Ok(())
}

#[tokio::test]
async fn a_broker_that_is_gone_costs_deltas_only() -> anyhow::Result<()> {
    logs::keep();
    let database = Database::sqlite().await?;
    let mut redis = RedisServer::start().await?;
    redis.kill();
    let model = narrator();
    let owner = service(&process(&database, model.clone(), over(&redis)?).await?);
    let replica = service(&process(&database, nobody(), over(&redis)?).await?);
    post(&owner, "/runs", &new()).await?;
    let at_owner = Watching::open(&owner, RUN).await?;
    let mut at_replica = Watching::open(&replica, RUN).await?;
    at_replica.until("model_call_scheduled").await?;
    let execution = at_replica.execution().expect("a cursor").to_owned();
    let warnings = || logs::with("broker of deltas").into_iter().filter(|line| line.contains(&*execution)).count();
    model.send(2 * WORDS);
    let both = async { tokio::try_join!(at_owner.end(), at_replica.end()) };
    let (told, seen) = timeout(PATIENCE, both).await??;
    // Both have tried again and again, and each has logged the outage once.
    assert!((1..=2).contains(&warnings()), "{}", warnings());
    assert_eq!(texts(&told).last().map(|(_, text)| &**text), Some(STORY));
    assert_eq!(seen.iter().collect::<Vec<_>>(), facts(&told));
    Ok(())
}

#[tokio::test]
async fn after_an_outage_no_text_has_a_hole() -> anyhow::Result<()> {
    let database = Database::sqlite().await?;
    let mut redis = RedisServer::start().await?;
    let model = narrator();
    let owner = service(&process(&database, model.clone(), over(&redis)?).await?);
    let replica = service(&process(&database, nobody(), over(&redis)?).await?);
    post(&owner, "/runs", &new()).await?;
    let mut at_owner = Watching::open(&owner, RUN).await?;
    let mut at_replica = Watching::open(&replica, RUN).await?;
    model.send(3);
    at_replica.until(&word(2)).await?;
    redis.kill();
    model.send(4);
    at_owner.until(&word(6)).await?;
    redis.restart().await?;
    model.send(WORDS - 7);
    // The words of the second answer.
    at_owner.until("tool_output").await?;
    model.send(WORDS - 1);
    at_replica.until("/2-model/0").await?;
    model.send(1);
    let (told, seen) = (at_owner.end().await?, at_replica.end().await?);
    assert_eq!(facts(&seen), facts(&told));
    let texts = texts(&seen);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(texts.iter().all(|(_, text)| STORY.starts_with(&**text)), "{texts:?}");
    assert_eq!(kinds(&seen).last(), Some(&"run_finished"));
    Ok(())
}
