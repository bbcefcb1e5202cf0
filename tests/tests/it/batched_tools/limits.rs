//! Batches whose request or reply would be too large, many calls, and which calls stay on their own.

use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{Agent, RunConfig, Runner, State, Tool, ToolContext, tool};
use temporal_agents_testing::{
    FakeModel,
    environment::activities,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{Log, tool_activities};
use crate::examples::{Cache, histories};

/// So much text.
#[tool]
async fn page(ctx: &ToolContext, State(log): State<Log>, bytes: usize, number: usize) -> String {
    log.begins(ctx, &format!("page {number}"));
    "x".repeat(bytes)
}

/// The length of a text.
#[tool]
async fn length(text: String) -> usize {
    text.len()
}

/// Another one.
#[tool(start_to_close = "7s")]
async fn other(number: usize) -> usize {
    number
}

/// Must not run twice.
#[tool(idempotent = false)]
async fn once(number: usize) -> usize {
    number
}

/// One after another.
#[tool]
async fn one_by_one(number: usize) -> usize {
    number
}

/// In the workflow.
#[tool(inline)]
fn inside(number: usize) -> usize {
    number
}

fn reader() -> Agent {
    let helper = Agent::new("helper").model("gpt-5").tool(page).tool(other);
    Agent::new("reader")
        .model("gpt-5")
        .tool(page)
        .tool(length)
        .tool(other)
        .tool(once)
        .tool(one_by_one.serial())
        .tool(inside)
        .tool(helper.as_tool().name("ask").description("Asks a helper."))
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reader;

#[workflow_methods]
impl Reader {
    #[run(name = "batching reader")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, most: Option<usize>) -> WorkflowResult<String> {
        let mut config = RunConfig::builder().batch_tools(true).build();
        config.max_tool_concurrency = most;
        Ok(Runner::with_config(ctx, config).run(&reader(), "Read.").await?.final_output)
    }
}

type Calls = Vec<(&'static str, Value)>;

/// The tool activities of a run with these calls in one response, and what the model was told.
async fn run(calls: Calls, most: Option<usize>, cache: Cache) -> anyhow::Result<(Vec<String>, Vec<Value>, Log)> {
    let (model, log) = (FakeModel::script([tool_calls(calls), text("done")]), Log::default());
    let env = cache.environment::<Reader>()?.model(&model).state(log.clone()).agents((reader,)).start().await?;
    let run = env.run(Reader::run, most).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    histories::<Reader>(&env, &run.workflow_id).await?;
    let activities = tool_activities(&run.history);
    let last = model.calls().pop().expect("the model was asked");
    let told = last.input.iter().filter_map(|item| item.get("output").cloned()).collect();
    run.output()?;
    env.finish().await?;
    Ok((activities, told, log))
}

#[rstest]
#[tokio::test]
async fn a_batch_has_at_most_twenty_calls(#[values(Cache::On, Cache::Off)] cache: Cache) -> anyhow::Result<()> {
    let calls = (0..100).map(|number| ("page", json!({"bytes": 10, "number": number}))).collect();
    let (activities, told, log) = run(calls, None, cache).await?;
    assert_eq!(activities, ["agents.call_tools"; 5]);
    assert_eq!((told.len(), log.counts().len()), (100, 100));
    Ok(())
}

#[tokio::test]
async fn a_limit_on_calls_at_the_same_time_limits_the_calls_of_a_batch() -> anyhow::Result<()> {
    let calls = || (0..5).map(|number| ("page", json!({"bytes": 10, "number": number}))).collect::<Calls>();
    let (activities, ..) = run(calls(), Some(2), Cache::On).await?;
    assert_eq!(activities, ["agents.call_tools", "agents.call_tools", "agents.tool.page"]);
    let (activities, ..) = run(calls(), Some(1), Cache::On).await?;
    assert_eq!(activities, ["agents.tool.page"; 5]);
    Ok(())
}

#[tokio::test]
async fn a_request_is_at_most_one_megabyte() -> anyhow::Result<()> {
    let text = |bytes: usize| ("length", json!({"text": "x".repeat(bytes)}));
    let calls = vec![text(600_000), text(300_000), text(300_000), text(10)];
    let (activities, told, _) = run(calls, None, Cache::On).await?;
    assert_eq!(activities, ["agents.call_tools", "agents.tool.length"]);
    assert_eq!(told, ["600000", "300000", "300000", "10"].map(|characters| json!(characters)));
    let (activities, told, _) = run(vec![text(1_100_000), text(20), text(10)], None, Cache::On).await?;
    assert_eq!(activities, ["agents.tool.length", "agents.call_tools"]);
    assert_eq!(told, ["1100000", "20", "10"].map(|characters| json!(characters)));
    Ok(())
}

#[rstest]
#[tokio::test]
async fn outputs_that_have_no_room_together_are_made_on_their_own(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = (0..5).map(|number| ("page", json!({"bytes": 600_000, "number": number}))).collect();
    let (activities, told, log) = run(calls, None, cache).await?;
    assert_eq!(activities, ["agents.call_tools", "agents.tool.page", "agents.tool.page"]);
    assert!(told.iter().all(|output| output.as_str().is_some_and(|text| text.len() == 600_000)));
    assert_eq!((told.len(), log.counts().values().sum::<usize>()), (5, 7), "two calls were made twice");
    Ok(())
}

#[rstest]
#[tokio::test]
async fn calls_that_a_batch_cannot_have_stay_on_their_own(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let number = |tool, number: usize| (tool, json!({"number": number}));
    let calls = vec![
        number("once", 0),
        ("page", json!({"bytes": 1, "number": 1})),
        number("inside", 2),
        number("one_by_one", 3),
        number("other", 4),
        ("page", json!({"bytes": 1, "number": 5})),
        number("once", 6),
        number("one_by_one", 7),
        ("length", json!({"text": "abc"})),
        ("length", json!({"text": 7})),
    ];
    let (mut activities, told, _) = run(calls, None, cache).await?;
    activities.sort();
    let alone = ["once", "once", "one_by_one", "one_by_one", "other"].map(|tool| format!("agents.tool.{tool}"));
    assert_eq!(activities, [&["agents.call_tools".to_owned()][..], &alone].concat());
    assert_eq!(told[..9], ["0", "x", "2", "3", "4", "x", "6", "7", "3"].map(|output| json!(output)));
    assert_eq!(told[9], r#"Invalid JSON input for tool length: text: fails type, allowed: "string""#);
    Ok(())
}

#[rstest]
#[tokio::test]
async fn agents_side_by_side_have_batches_of_their_own(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let pages =
        |from: usize| tool_calls((from..from + 3).map(|number| ("page", json!({"bytes": 9, "number": number}))));
    let model = FakeModel::function(move |call, _turn| match (&*call.agent, call.input.len()) {
        ("reader", 1) => tool_calls([("ask", json!({"input": "one"})), ("ask", json!({"input": "two"}))]),
        ("reader", _) => text("done"),
        (_, 1) => pages(if call.input[0].text().as_deref() == Some("one") { 0 } else { 10 }),
        _ => text("read"),
    });
    let log = Log::default();
    let env = cache.environment::<Reader>()?.model(&model).state(log.clone()).agents((reader,)).start().await?;
    let run = env.run(Reader::run, None).await?;
    histories::<Reader>(&env, &run.workflow_id).await?;
    let ids: Vec<String> =
        activities(&run.history).into_iter().map(|activity| activity.activity_id[8..].to_owned()).collect();
    let mut batches: Vec<_> = ids.iter().filter(|id| id.contains("-tools-")).collect();
    batches.sort();
    assert_eq!(batches, ["-1-tool-0-1-tools-0_2", "-1-tool-1-1-tools-0_2"]);
    assert_eq!(log.counts().len(), 6);
    assert_eq!(run.output()?, "done");
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_single_call_is_an_activity_of_its_own_and_has_no_patch() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("other", json!({"number": 1})), text("done")]);
    let env = Cache::On.environment::<Reader>()?.model(&model).state(Log::default()).agents((reader,)).start().await?;
    let run = env.run(Reader::run, None).await?;
    assert_eq!(tool_activities(&run.history), ["agents.tool.other"]);
    let text = temporal_agents_testing::history::to_json(&run.history);
    assert!(!text.contains("batched-tools"));
    run.output()?;
    env.finish().await?;
    Ok(())
}
