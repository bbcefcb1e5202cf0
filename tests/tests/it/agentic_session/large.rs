//! Sessions whose checkpoint grows past what a heartbeat may carry.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use temporal_agents::{
    Agent,
    agentic_session::{AgenticSession, AgenticSessionOptions, CheckpointStore},
    inline::InlineRunner,
    run::{Compaction, RunConfig},
    tool,
    tool::{BoxError, ToolError},
    wire::ModelCall,
};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{item, text},
};
use tokio::time::{Instant, sleep};

use crate::PATIENCE;

use super::{
    desk::{Desk, Office, Order},
    kept::details,
    mishap::Mishap,
};

const PAGE: usize = 300_000;
const PAGES: u32 = 9;

/// Reads a page, a long one.
///
/// # Arguments
/// * `page` - its number
#[tool]
async fn read_page(page: u32) -> Result<String, ToolError> {
    Ok(page.to_string().repeat(PAGE))
}

/// Reads page after page, and holds still where it is told to, at this turn.
fn reader(holds_at: Option<u32>) -> FakeModel {
    FakeModel::function(move |call, _| {
        let page = json!({"page": call.turn}).to_string();
        let id = format!("page_{}", call.turn);
        let read = json!({"type": "function_call", "call_id": id, "name": "read_page", "arguments": page});
        let next = if call.turn > PAGES { text("done") } else { item(read) };
        next.delayed(Duration::from_mins(if holds_at == Some(call.turn) { 10 } else { 0 }))
    })
}

/// How many bytes of pages a model was given.
fn bytes(call: &ModelCall) -> usize {
    call.input.iter().filter_map(|item| item.get("output").and_then(Value::as_str)).map(str::len).sum()
}

/// A desk where it is read with these options. The first attempt has this model, those after it the other.
fn desk(options: &AgenticSessionOptions, models: [&FakeModel; 2], config: &RunConfig, mishap: &Mishap) -> Desk {
    let (options, models, config, mishap) = (options.clone(), models.map(Clone::clone), config.clone(), mishap.clone());
    Desk::new(move |ctx, _| {
        let model = models[usize::from(ctx.info().attempt > 1)].clone();
        let inline = InlineRunner::with_config(model, config.clone()).max_turns(20);
        let (options, mishap) = (options.clone(), mishap.clone());
        async move {
            let body = async |session: AgenticSession| {
                let reader = Agent::new("reader").model("gpt-5").tool(read_page);
                Ok(mishap.or(session.runner(&inline).run(&reader, "Read it.").into_future()).await?.final_output.into())
            };
            options.run(&ctx, body).await
        }
    })
}

#[tokio::test]
async fn a_session_whose_checkpoint_is_too_large_says_what_to_do() -> anyhow::Result<()> {
    let model = reader(None);
    let options = AgenticSession::options();
    let env = desk(&options, [&model, &model], &RunConfig::default(), &Mishap::new()).environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    let outcomes: Vec<_> = run.activities().into_iter().map(|record| (record.attempts, record.outcome)).collect();
    assert_eq!(outcomes, [(1, ActivityOutcome::Failed("AgenticSessionError".to_owned()))]);
    let chain: Vec<String> = run.failure_chain().into_iter().map(|(_, message)| message).collect();
    let chain = chain.join("\n");
    assert!(chain.contains("more than the 2.00 MB that a heartbeat may carry"), "{chain}");
    assert!(chain.contains("RunConfig's compaction, or set a .checkpoint_store(..)"), "{chain}");
    assert_eq!(model.calls().len(), 7, "the seventh page is too much");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_session_with_a_compaction_goes_on_with_a_shorter_conversation() -> anyhow::Result<()> {
    let model = reader(None);
    let mut config = RunConfig::default();
    config.compaction = Some(Compaction::keep_newest(700_000));
    let env =
        desk(&AgenticSession::options(), [&model, &model], &config, &Mishap::new()).environment()?.start().await?;
    let run = env.run(Office::run, Order::new(Value::Null)).await?;
    assert_eq!(run.activities()[0].attempts, 1);
    assert_eq!(run.output()?, json!("done"));
    // 1 MB is where it is shortened: to two pages.
    let pages: Vec<usize> = model.calls().iter().map(|call| bytes(call) / PAGE).collect();
    assert_eq!(pages, [0, 1, 2, 3, 2, 3, 2, 3, 2, 3]);
    env.finish().await?;
    Ok(())
}

/// A store in memory.
#[derive(Clone, Default)]
struct Shelf {
    checkpoints: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.checkpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointStore for Shelf {
    fn put<'a>(&'a self, key: &'a str, checkpoint: String) -> BoxFuture<'a, Result<(), BoxError>> {
        let before = self.lock().insert(key.to_owned(), checkpoint);
        Box::pin(async move { before.map_or(Ok(()), |_| Err(format!("there is a checkpoint {key:?} already").into())) })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, BoxError>> {
        let found = self.lock().get(key).cloned();
        Box::pin(async move { Ok(found) })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, ()> {
        self.lock().remove(key);
        Box::pin(async {})
    }
}

#[tokio::test]
async fn a_session_with_a_store_keeps_large_checkpoints_there_and_goes_on_from_them() -> anyhow::Result<()> {
    let (first, second, shelf, mishap) = (reader(Some(PAGES)), reader(None), Shelf::default(), Mishap::new());
    let options = AgenticSession::options().checkpoint_store(shelf.clone());
    let desk = desk(&options, [&first, &second], &RunConfig::default(), &mishap);
    let env = desk.environment()?.start().await?;
    let started = env.start_workflow(Office::run, Order::new(Value::Null)).await?;
    let deadline = Instant::now() + PATIENCE;
    while first.calls().len() < PAGES as usize {
        anyhow::ensure!(Instant::now() < deadline, "the model was asked {} times only", first.calls().len());
        sleep(Duration::from_millis(20)).await;
    }
    let heartbeat = details(env.client(), &started.info().workflow_id).await?;
    let size = heartbeat["kept"]["bytes"].as_u64().unwrap_or_default();
    assert!(size > 2_000_000, "the heartbeat says only where it is: {heartbeat}");
    mishap.happen();
    let run = env.await_run(&started).await?;
    assert_eq!(run.activities()[0].attempts, 2);
    assert_eq!(run.output()?, json!("done"));
    let turns = |model: &FakeModel| model.calls().iter().map(|call| call.turn).collect::<Vec<_>>();
    assert_eq!((turns(&first), turns(&second)), ((1..=PAGES).collect(), vec![PAGES, PAGES + 1]));
    assert_eq!(bytes(second.calls().last().expect("two calls")) / PAGE, PAGES as usize, "nothing is lost");
    let left = shelf.lock().len();
    assert!(left <= 4, "each attempt leaves the last two of its checkpoints at most: {left}");
    env.finish().await?;
    Ok(())
}
