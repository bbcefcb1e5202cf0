//! What batches cost and save. `--nocapture` shows it.

use prost::Message;
use rstest::rstest;
use serde_json::json;
use temporal_agents::wire::ModelCall;
use temporal_agents_testing::{
    FakeModel,
    environment::activities,
    fake_model::{text, tool_calls},
    history::History,
};

use super::{Batches, Desk, Log};
use crate::examples::{Cache, histories};

const TURNS: usize = 4;
const CALLS: usize = 8;

#[derive(Debug)]
struct Price {
    events: usize,
    bytes: usize,
    activities: usize,
}

fn price_of(history: &History) -> Price {
    let bytes = history.encode_to_vec().len();
    Price { events: history.events.len(), bytes, activities: activities(history).len() }
}

async fn run(cache: Cache, batches: Batches) -> anyhow::Result<(Price, Vec<ModelCall>)> {
    let names: Vec<String> = (0..TURNS * CALLS).map(|number| format!("errand {number}")).collect();
    let turn = |calls: &[String]| tool_calls(calls.iter().map(|way| ("act", json!({"way": way}))));
    let replies = names.chunks(CALLS).map(turn).chain([text("done")]);
    let (model, log) = (FakeModel::script(replies), Log::default());
    let env = cache.environment::<Desk>()?.model(&model).state(log.clone()).agents((super::desk,)).start().await?;
    let finished = env.run(Desk::run, batches).await?;
    histories::<Desk>(&env, &finished.workflow_id).await?;
    assert_eq!(log.counts().values().sum::<usize>(), TURNS * CALLS);
    let price = price_of(&finished.history);
    finished.output()?;
    env.finish().await?;
    Ok((price, model.calls()))
}

#[rstest]
#[tokio::test]
async fn eight_calls_in_one_activity_take_a_third_of_the_events(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (without, asked) = run(cache, Batches::Off).await?;
    let (with, asked_with) = run(cache, Batches::On).await?;
    println!("{TURNS} turns of {CALLS} calls, cache {cache:?}: without batches {without:?}, with {with:?}");
    assert_eq!(asked_with, asked);
    assert_eq!((without.activities, with.activities), (TURNS * CALLS + TURNS + 1, TURNS + TURNS + 1));
    assert!(with.events * 2 < without.events && with.bytes < without.bytes, "{with:?} {without:?}");
    Ok(())
}
