//! Requests stay small, and models get what they would get in full, whatever filters do.

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, RunConfig, Runner,
    inline::InlineRunner,
    run::{CallModelInputFilter, ModelInput},
    tool,
    wire::Item,
    worker::ConversationCache,
};
use temporal_agents_testing::{
    AgentEnvironment,
    environment::ActivityOutcome,
    fake_model::{FakeModel, Reply, item, text},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{as_text, request_bytes};

const BYTES: usize = 500;

/// A page of a book.
#[tool]
async fn page(number: u32) -> String {
    format!("page {number} ").repeat(BYTES / 8)
}

/// The title of a chapter: too short to be referred to.
#[tool]
async fn title(number: u32) -> String {
    format!("chapter {number}")
}

fn reader() -> Agent {
    let many_words = "You read aloud, slowly and clearly, and leave nothing out. ".repeat(20);
    Agent::new("reader").model("gpt-5").instructions(many_words).tool(page).tool(title)
}

/// What changes the input of each model call.
fn filter(name: &str) -> RunConfig {
    let mut config = RunConfig::default();
    config.max_turns = None;
    let change: fn(Vec<Item>) -> Vec<Item> = match name {
        "none" => |input| input,
        "trimmed" => |mut input| input.split_off(input.len().saturating_sub(5)),
        "prepended" => |input| [Item::user("Mind the commas.")].into_iter().chain(input).collect(),
        "first and last" => {
            |input| input.iter().take(1).chain(input.iter().skip(1).rev().take(4).rev()).cloned().collect()
        }
        other => panic!("there is no filter {other}"),
    };
    config.call_model_input_filter = Some(CallModelInputFilter::new(move |given, _agent, _run| {
        let ModelInput { input, instructions, .. } = given;
        Ok(ModelInput::new(change(input), instructions))
    }));
    config
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reading;

#[workflow_methods]
impl Reading {
    #[run(name = "reading")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, filtered: String) -> WorkflowResult<String> {
        Ok(Runner::with_config(ctx, filter(&filtered)).run(&reader(), "Read it to me.").await?.final_output)
    }
}

/// Asks for a page and a title at each turn, so many times.
fn turns(count: usize) -> FakeModel {
    // Not the model's own ids: those count the items of the conversation, and filters shorten it.
    let call = |tool: &str, turn: usize| {
        let (id, arguments) = (format!("{tool}_{turn}"), json!({"number": turn}).to_string());
        item(json!({"type": "function_call", "id": id, "call_id": id, "name": tool, "arguments": arguments}))
    };
    FakeModel::function(move |_call, turn| -> Reply {
        if turn == count { text("The end.") } else { call("page", turn).and(call("title", turn)) }
    })
}

#[rstest]
#[case::each_call_from_memory(ConversationCache::default(), true)]
#[case::each_call_from_history(ConversationCache::with_bytes(0), true)]
#[case::without_the_workflow_cache(ConversationCache::default(), false)]
#[tokio::test]
async fn whatever_filters_do_models_get_what_they_would_get_in_full(
    #[case] cache: ConversationCache,
    #[case] keeps_workflows: bool,
    #[values("none", "trimmed", "prepended", "first and last")] filtered: &str,
) -> anyhow::Result<()> {
    let inline = turns(6);
    let runner = InlineRunner::with_config(inline.clone(), filter(filtered));
    runner.run(&reader(), "Read it to me.").await?;

    let model = turns(6);
    let mut builder = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).agents((reader,));
    if !keeps_workflows {
        builder = builder.without_workflow_cache();
    }
    let env = builder.conversation_cache(cache.clone()).start().await?;
    let run = env.run(Reading::run, filtered.to_owned()).await?;

    assert!(
        run.activities().iter().all(|activity| activity.outcome == ActivityOutcome::Completed),
        "nothing was sent again"
    );
    assert_eq!(run.output()?, "The end.");
    assert_eq!(as_text(&model.calls()), as_text(&inline.calls()));
    let counters = cache.counters();
    assert_eq!(counters.hits + counters.misses, 6, "all but the first refer to something: {counters:?}");
    assert_eq!(counters.remembered_bytes, 0, "what belongs to a run that has ended is forgotten: {counters:?}");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_request_stays_small_however_long_the_conversation_is() -> anyhow::Result<()> {
    let model = turns(30);
    let env = AgentEnvironment::builder().workflow::<Reading>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(Reading::run, "none".to_owned()).await?;
    let bytes = request_bytes(&run.history);
    assert!(bytes[1..].iter().all(|bytes| *bytes < 1500), "{bytes:?}");
    // The number of a turn has one digit more, the count of items two.
    assert!(bytes[30].abs_diff(bytes[1]) < 100, "{bytes:?}");
    env.finish().await?;
    Ok(())
}
