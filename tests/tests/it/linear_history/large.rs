//! A conversation that is too large for one message is recorded in portions.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{Agent, ModelActivityOptions, Runner, run::RunInput, tool, wire::Item};
use temporal_agents_testing::fake_model::{FakeModel, text, tool_call};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{Recorded, request_bytes, requests, segments};
use crate::examples::{Cache, histories};

/// The default.
const LIMIT: usize = 2_000_000;

/// A line of a book.
#[tool]
async fn verse() -> String {
    "a verse".to_owned()
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").tool(verse)
}

/// Begins with so many messages of so many bytes; requests have a limit, and instructions of 20 KB.
#[workflow]
#[derive(Default)]
pub(crate) struct LongStory;

#[workflow_methods]
impl LongStory {
    #[run(name = "long_story")]
    pub(crate) async fn run(
        ctx: &mut WorkflowContext<Self>,
        (sizes, limit): (Vec<usize>, usize),
    ) -> WorkflowResult<String> {
        let requests = ModelActivityOptions::builder().max_request_bytes(limit).build();
        let item = |(place, bytes): (usize, usize)| Item::user(place.to_string().repeat(bytes));
        let items: Vec<Item> = sizes.into_iter().enumerate().map(item).collect();
        let agent = reader().instructions("You read. ".repeat(2_000));
        Ok(Runner::new(ctx).model_activity(requests).run(&agent, RunInput::from(items)).await?.final_output)
    }
}

#[rstest]
#[tokio::test]
async fn what_is_too_large_for_one_message_is_recorded_in_portions_first(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("verse", json!({})), text("The end.")]);
    let env = cache.environment::<LongStory>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(LongStory::run, (vec![400_000, 400_000, 400_000, 1_200_000, 400_000], LIMIT)).await?;
    let kinds: Vec<_> = run.activities().into_iter().map(|activity| activity.activity_type).collect();
    let record = "agents.record_items";
    assert_eq!(kinds, [record, record, record, record, "agents.call_model", "agents.tool.verse", "agents.call_model"]);
    let requests = requests(&run.history);
    assert_eq!(segments(&requests[0]), ["recorded 0..2", "recorded 0..1", "recorded 0..1", "recorded 0..1"]);
    assert_eq!(segments(&requests[1]), ["call 0..6", "items 1"]);
    assert!(request_bytes(&run.history).iter().all(|bytes| *bytes < 22_000));
    assert_eq!(model.calls()[1].input.len(), 7);
    assert_eq!(run.output()?, "The end.");
    histories::<LongStory>(&env, "long_story-0").await?;
    env.finish().await?;
    Ok(())
}

/// A history with a portion.
pub(crate) async fn recorded(cache: Cache) -> anyhow::Result<Recorded> {
    let model = FakeModel::script([tool_call("verse", json!({})), text("The end.")]);
    let env = cache.environment::<LongStory>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(LongStory::run, (vec![5_000, 5_000], 25_000)).await?;
    env.finish().await?;
    Ok(Recorded { histories: vec![run.history] })
}

#[tokio::test]
async fn items_for_which_the_definitions_leave_no_room_are_recorded() -> anyhow::Result<()> {
    let model = FakeModel::script([text("The end.")]);
    let env = Cache::On.environment::<LongStory>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(LongStory::run, (vec![45_000, 45_000], 100_000)).await?;
    let kinds: Vec<_> = run.activities().into_iter().map(|activity| activity.activity_type).collect();
    assert_eq!(kinds, ["agents.record_items", "agents.call_model"]);
    assert_eq!(run.output()?, "The end.");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn one_item_that_is_too_large_fails_the_run_and_is_named() -> anyhow::Result<()> {
    let model = FakeModel::script([]);
    let env = Cache::On.environment::<LongStory>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(LongStory::run, (vec![100, 2_100_000], LIMIT)).await?;
    assert_eq!(
        run.failure_chain()[0].1,
        "the model call of agent \"reader\" at turn 1 (model \"gpt-5\") failed: a message (role user) in the \
         conversation is 2100028 bytes, the limit is 2000000; shorten it, or raise \
         ModelActivityOptions::max_request_bytes if a codec compresses payloads"
    );
    assert!(run.activities().is_empty());
    env.finish().await?;
    Ok(())
}
