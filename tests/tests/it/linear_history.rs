//! Model requests refer to what history holds: histories grow with the turns, and models get what they would get in full.

use std::sync::atomic::{AtomicBool, Ordering};

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, RunConfig, Runner,
    drive::{CallModelInputFilter, ModelInput},
    tool,
    wire::{Item, ModelCall},
    worker::{ConversationCache, InlineRunner},
};
use temporal_agents_testing::{
    AgentEnvironment,
    environment::ActivityOutcome,
    fake_model::{FakeModel, Reply, item, text, tool_call},
    history::History,
};
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

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
        Ok(Runner::new(ctx).config(filter(&filtered)).run(&reader(), "Read it to me.").await?.final_output)
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

/// The inputs of the model activities, in bytes.
fn request_bytes(history: &History) -> Vec<usize> {
    let scheduled = history.events.iter().filter_map(|event| match &event.attributes {
        Some(Attributes::ActivityTaskScheduledEventAttributes(scheduled)) => Some(scheduled),
        _ => None,
    });
    let models = scheduled
        .filter(|scheduled| scheduled.activity_type.as_ref().is_some_and(|kind| kind.name == "agents.call_model"));
    models
        .map(|scheduled| {
            scheduled.input.iter().flat_map(|input| &input.payloads).map(|payload| payload.data.len()).sum()
        })
        .collect()
}

/// What a model got, as text, so that the order of members counts.
fn as_text(calls: &[ModelCall]) -> Vec<(Vec<String>, Value)> {
    let one = |call: &ModelCall| {
        let definitions = serde_json::to_value(&call.definitions).expect("definitions are JSON");
        (call.input.iter().map(Item::json).collect(), definitions)
    };
    calls.iter().map(one).collect()
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
    let runner = InlineRunner::new().model_provider(inline.clone()).config(filter(filtered));
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

/// Whether the agent's instructions are those of the next release.
static DEPLOYED: AtomicBool = AtomicBool::new(false);

fn changing() -> Agent {
    let words = if DEPLOYED.load(Ordering::SeqCst) { "You are brief." } else { "You take your time." };
    Agent::new("reader").model("gpt-5").instructions(words).tool(page)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Changing;

#[workflow_methods]
impl Changing {
    #[run(name = "changing")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&changing(), "Read it to me.").await?.final_output)
    }
}

#[tokio::test]
async fn a_deploy_that_changes_what_earlier_calls_were_given_makes_the_next_call_travel_in_full() -> anyhow::Result<()>
{
    let model = FakeModel::function(|_call, turn| match turn {
        0 => tool_call("page", json!({"number": 1})),
        1 => {
            DEPLOYED.store(true, Ordering::SeqCst);
            tool_call("page", json!({"number": 2}))
        }
        _ => text("The end."),
    });
    // Without a workflow cache the next workflow task replays with the new instructions, as after a deploy.
    let builder = AgentEnvironment::builder().workflow::<Changing>()?.model(&model).agents((changing,));
    let env = builder.without_workflow_cache().start().await?;
    let run = env.run(Changing::run, ()).await?;

    let models = run.activities().into_iter().filter(|activity| activity.activity_type == "agents.call_model");
    let ended: Vec<_> = models.map(|model| (model.activity_id.ends_with("-full"), model.outcome)).collect();
    assert_eq!(
        ended,
        [
            (false, ActivityOutcome::Completed),
            (false, ActivityOutcome::Completed),
            (false, ActivityOutcome::Failed("ConversationUnavailable".to_owned())),
            (true, ActivityOutcome::Completed),
        ]
    );
    assert_eq!(run.output()?, "The end.");
    let told: Vec<_> =
        model.calls().into_iter().map(|call| call.definitions.instructions.unwrap_or_default()).collect();
    assert_eq!(told, ["You take your time.", "You take your time.", "You are brief."]);
    env.finish().await?;
    Ok(())
}
