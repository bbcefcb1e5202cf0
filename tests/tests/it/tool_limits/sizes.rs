//! Each policy for an output that is too large, on both hosts, and arguments that are.

use std::sync::{Arc, Mutex};

use futures::{FutureExt, future::BoxFuture};
use rstest::rstest;
use serde_json::{Value, json};
use temporal_agents::{
    Agent, Resources, Runner, Tool, ToolContext,
    inline::InlineRunner,
    store::{SpillStore, SpilledOutput},
    tool,
    tool::{BoxError, OnToolError, OversizedOutput, ToolFailureKind},
    worker::InstallIssue,
};
use temporal_agents_testing::{
    FakeModel,
    environment::ActivityOutcome,
    fake_model::{text, tool_call, tool_calls},
};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkerOptions, WorkflowContext, WorkflowResult};

use super::told;
use crate::examples::{Cache, histories};

/// 5 MB of a book.
fn book() -> String {
    "word ".repeat(1_000_000)
}

/// Reads a book aloud.
#[tool]
async fn read() -> String {
    book()
}

/// Reads a book aloud, once.
#[tool(idempotent = false)]
async fn read_once() -> String {
    book()
}

/// Reads a book aloud, as much as fits.
#[tool]
async fn read_some() -> String {
    book()
}

/// Reads a book into a store.
#[tool]
async fn read_away() -> String {
    book()
}

/// Recites.
#[tool(inline)]
fn recite() -> String {
    book()
}

/// Recites for the reader in a hurry.
#[tool]
async fn hurry() -> String {
    book()
}

/// Notes a lot in the run context.
#[tool]
async fn note(call: &mut ToolContext) -> Result<String, temporal_agents::ToolError> {
    call.run_mut().set("notes", book())?;
    Ok("noted".to_owned())
}

/// How long a text is.
#[tool]
async fn length(text: String) -> String {
    text.len().to_string()
}

fn reader() -> Agent {
    let by_kind = OnToolError::by_kind(|_call, failure| match failure.kind {
        ToolFailureKind::Oversized => Some(format!("too much: {}", failure.reason())),
        _ => None,
    });
    Agent::new("reader")
        .model("gpt-5")
        .tool(read)
        .tool(read_once)
        .tool(read_some.oversized_output(OversizedOutput::Truncate).max_output_bytes(300))
        .tool(read_away.oversized_output(OversizedOutput::Spill))
        .tool(recite.oversized_output(OversizedOutput::Truncate).max_output_bytes(300))
        .tool(hurry.on_error(by_kind))
        .tool(note.definition().with_context(["notes"]))
        .tool(length)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reader;

#[workflow_methods]
impl Reader {
    #[run(name = "reader")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, request: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&reader(), request).await?.final_output)
    }
}

/// Keeps sizes, under the call's own key.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<(usize, String)>>>);

impl SpillStore for Shelf {
    fn spill<'a>(&'a self, spilled: SpilledOutput<'a>) -> BoxFuture<'a, Result<String, BoxError>> {
        let key = spilled.call.idempotency_key().to_owned();
        let mut kept = self.0.lock().expect("nobody panics");
        kept.push((spilled.content.len(), key));
        std::future::ready(Ok(format!("shelf/{}", kept.len()))).boxed()
    }
}

fn script() -> FakeModel {
    let calls =
        ["read", "read_once", "read_some", "read_away", "recite", "hurry", "note"].map(|tool| (tool, json!({})));
    let long = [("length", json!({"text": "x".repeat(2_030_000)}))];
    FakeModel::script([tool_calls(calls), tool_calls(long), text("That was long.")])
}

fn expected() -> Vec<Value> {
    let some = format!("{}\n[truncated: 4999900 of 5000000 bytes are left out]", &book()[..100]);
    let spilled = format!(
        "The output is 5.00 MB, too large to show here. All of it is kept as \"shelf/1\". It begins with:\n{}",
        &book()[..2_000]
    );
    vec![
        json!("tool \"read\" returned 5.00 MB, the limit is 2.00 MB. Try again with less."),
        json!(
            "tool \"read_once\" returned 5.00 MB, the limit is 2.00 MB. The call has taken effect, and its output is lost. \
             Do not repeat it."
        ),
        json!(some),
        json!(spilled),
        json!(some),
        json!("too much: tool \"hurry\" returned 5.00 MB, the limit is 2.00 MB"),
        json!(
            "tool \"note\" changes the run context by 5.00 MB, above all \"notes\"; with its output that is over the limit of \
             2.00 MB. Try again with less."
        ),
        json!("the arguments of tool \"length\" are 2.03 MB, the limit is 2.00 MB. Try again with less."),
    ]
}

#[rstest]
#[tokio::test]
async fn what_is_too_large_is_told_cut_or_spilled_and_the_run_goes_on(
    #[values(Cache::On, Cache::Off)] cache: Cache,
) -> anyhow::Result<()> {
    let (model, shelf) = (script(), Shelf::default());
    let builder = cache.environment::<Reader>()?.model(&model).agents((reader,));
    let env = builder.resources(|resources| resources.spill_store(shelf.clone())).start().await?;
    let run = env.run(Reader::run, "Read.".to_owned()).await?;
    assert_eq!(told(&model), expected());
    let too_large = ActivityOutcome::Failed("ToolOutputTooLarge".to_owned());
    let outcomes: Vec<_> = run
        .activities()
        .into_iter()
        .filter(|activity| activity.activity_type.starts_with("agents.tool"))
        .map(|activity| (activity.attempts, activity.outcome))
        .collect();
    let (failed, done) = ((1, too_large), (1, ActivityOutcome::Completed));
    assert_eq!(
        outcomes,
        [failed.clone(), failed.clone(), done.clone(), done, failed.clone(), failed],
        "none is tried again, and what is given too much is not scheduled"
    );
    assert_eq!(run.failed_workflow_tasks(), 0);
    histories::<Reader>(&env, &run.workflow_id).await?;
    assert_eq!(run.output()?, "That was long.");
    let kept: Vec<usize> = shelf.0.lock().expect("nobody panics").iter().map(|(bytes, _)| *bytes).collect();
    assert_eq!(kept, [5_000_000]);
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn the_same_without_temporal() -> anyhow::Result<()> {
    let model = script();
    let runner = InlineRunner::new(Resources::new().model_provider(model.clone()).spill_store(Shelf::default()));
    assert_eq!(runner.run(&reader(), "Read.").await?.final_output, "That was long.");
    assert_eq!(told(&model), expected());
    Ok(())
}

#[test]
fn a_worker_without_a_store_for_a_tool_that_spills_does_not_start() -> anyhow::Result<()> {
    let plugin = temporal_agents::AgentsPlugin::new(FakeModel::script([])).agents((reader,));
    let mut options = WorkerOptions::new("reading").register_workflow::<Reader>()?.build();
    let error = plugin.install(&mut options).expect_err("there is no store");
    assert_eq!(error.issues, [InstallIssue::MissingSpillStore { tool: "read_away".to_owned() }]);
    Ok(())
}

fn spills_in_workflow() -> Agent {
    Agent::new("reader").model("gpt-5").tool(recite.oversized_output(OversizedOutput::Spill))
}

#[tokio::test]
async fn a_tool_in_the_workflow_cannot_spill() {
    let runner = InlineRunner::new(FakeModel::function(|_, _| tool_call("recite", json!({}))));
    let error = runner.run(&spills_in_workflow(), "Read.").await.expect_err("it cannot spill").to_string();
    assert!(error.contains("recite") && error.contains("make it one"), "{error}");
}
