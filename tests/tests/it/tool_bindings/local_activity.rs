//! Tools as local activities.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rstest::rstest;
use serde_json::json;
use temporal_agents::{
    Agent, AgentsPlugin, Resources, State, Tool, ToolError,
    inline::InlineRunner,
    tool,
    tool::{ToolActivityOptions, ToolIssue},
};
use temporal_agents_testing::{
    FakeModel,
    fake_model::{text, tool_calls},
};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use super::support::{FAILED, count, outputs, workflow_of};
use crate::examples::Cache;

/// How often each kind of word was looked up.
#[derive(Clone, Default)]
struct Lookups(Arc<AtomicU32>);

/// Looks a word up.
#[tool(local, start_to_close = "5s")]
async fn look_up(State(lookups): State<Lookups>, word: String) -> Result<String, ToolError> {
    match word.as_str() {
        "rude" => Err(ToolError::tell_model("not in this dictionary")),
        "torn" => Err(ToolError::failed("page 7 is torn")),
        "panic" => panic!("the dictionary fell"),
        "late" if lookups.0.fetch_add(1, Ordering::SeqCst) == 0 => Err(ToolError::transient("closed")),
        "long" => Ok("a".repeat(3_000_000)),
        word => Ok(format!("{word} is a word")),
    }
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").tool(look_up)
}

workflow_of!(Reader, "reader", reader);

/// Prints a word.
#[tool]
async fn print(word: String) -> String {
    format!("{word} is on paper")
}

fn printer() -> Agent {
    Agent::new("printer").model("gpt-5").tool(look_up).tool(print)
}

workflow_of!(Printer, "printer", printer);

fn script() -> FakeModel {
    let words = ["tree", "rude", "torn", "panic", "late", "long"];
    FakeModel::script([tool_calls(words.map(|word| ("look_up", json!({"word": word})))), text("done")])
}

fn expected() -> Vec<serde_json::Value> {
    ["tree is a word", "not in this dictionary", FAILED, FAILED, "late is a word"].map(|text| json!(text)).to_vec()
}

#[rstest]
#[tokio::test]
async fn a_local_tool_fails_and_succeeds_as_an_activity_does_and_leaves_markers(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let model = script();
    let env = cache.environment::<Reader>()?.model(&model).state(Lookups::default()).agents((reader,)).start().await?;
    let run = env.run(Reader::run, "Read.".to_owned()).await?;
    let activities: Vec<_> = run.activities().into_iter().map(|activity| activity.activity_type).collect();
    assert_eq!(activities, ["agents.call_model", "agents.call_model"], "history has no activities of the tool");
    // One for each call, and that of the patch of notes.
    assert_eq!(count(&run.history, EventType::MarkerRecorded), 7);
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    let mut told = expected();
    told.push(json!("tool \"look_up\" returned 3.00 MB, the limit is 100.00 kB. Try again with less."));
    assert_eq!(outputs(&model), told);
    env.finish().await?;
    Ok(())
}

/// The history is replayed at its end: markers and activity tasks of one response may come in any order.
#[rstest]
#[tokio::test]
async fn a_local_tool_runs_beside_activities_of_the_same_response(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let calls = [("print", "oak"), ("look_up", "tree"), ("print", "elm"), ("look_up", "late"), ("look_up", "ash")];
    let calls = || tool_calls(calls.map(|(tool, word)| (tool, json!({"word": word}))));
    let model = FakeModel::script([calls(), calls(), text("done")]);
    let env =
        cache.environment::<Printer>()?.model(&model).state(Lookups::default()).agents((printer,)).start().await?;
    let run = env.run(Printer::run, "Print.".to_owned()).await?;
    assert_eq!(run.failed_workflow_tasks(), 0);
    assert_eq!(run.output()?, "done");
    let told = ["oak is on paper", "tree is a word", "elm is on paper", "late is a word", "ash is a word"];
    let told = told.map(|text| json!(text));
    assert_eq!(outputs(&model), [told.clone(), told].concat());
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_local_tool_runs_inline_as_well() -> anyhow::Result<()> {
    let model = FakeModel::script([
        tool_calls(["tree", "rude", "torn", "panic", "late"].map(|word| ("look_up", json!({"word": word})))),
        text("done"),
    ]);
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).state(Lookups::default()));
    let result = runner.first_pause(std::time::Duration::from_millis(1)).run(&reader(), "Read.").await?;
    assert_eq!(result.final_output, "done");
    assert_eq!(outputs(&model), expected());
    Ok(())
}

#[test]
fn a_local_tool_that_cannot_be_is_refused_before_the_worker_starts() {
    let elsewhere = || reader_with(ToolActivityOptions::builder().local(true).task_queue("far").build());
    let once = || reader_with(ToolActivityOptions::builder().local(true).idempotent(false).build());
    let refused = |agent: fn() -> Agent| {
        let mut options = temporalio_sdk::WorkerOptions::new("near").build();
        let plugin = AgentsPlugin::new(Resources::new().state(Lookups::default())).agents((agent,)).without_models();
        plugin.install(&mut options).expect_err("it cannot run").to_string()
    };
    let issue = ToolIssue::LocalWithTaskQueue { task_queue: "far".to_owned() }.to_string();
    assert!(refused(elsewhere).contains(&issue));
    assert!(refused(once).contains(&ToolIssue::LocalNotIdempotent.to_string()));
}

fn reader_with(options: ToolActivityOptions) -> Agent {
    Agent::new("reader").model("gpt-5").tool(look_up.definition().options(options))
}
