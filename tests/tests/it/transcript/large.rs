//! Conversations that are too large to travel in one piece: recorded in portions, or loaded from the execution before.

use serde_json::json;
use temporal_agents::{
    Agent, Runner,
    client::transcript::Transcript,
    run::RunInput,
    tool,
    wire::{Item, ModelCall},
};
use temporal_agents_testing::{
    AgentEnvironment,
    fake_model::{FakeModel, text, tool_call},
    history::History,
};
use temporalio_common::data_converters::DataConverter;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use crate::{
    continuing::support::{Limits, Shortens, read, read_with, summarizing},
    examples::Cache,
};

/// A line of a book.
#[tool]
async fn line() -> String {
    "a line".to_owned()
}

fn reader() -> Agent {
    Agent::new("reader").model("gpt-5").instructions("You read.").tool(line)
}

/// Begins with three messages that do not fit into one request.
#[workflow]
#[derive(Default)]
pub(crate) struct Volumes;

#[workflow_methods]
impl Volumes {
    #[run(name = "volumes")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<String> {
        let volumes: Vec<Item> = ["a", "b", "c"].map(|letter| Item::user(letter.repeat(900_000))).into();
        Ok(Runner::new(ctx).run(&reader(), RunInput::from(volumes)).await?.final_output)
    }
}

/// All requests of these histories.
async fn requests(histories: &[History]) -> anyhow::Result<Vec<ModelCall>> {
    let mut requests = Vec::new();
    for history in histories {
        let transcript = Transcript::of_history(history.clone(), &DataConverter::default()).await?;
        for call in transcript.calls() {
            assert_eq!(call.incomplete_input, None);
            requests.push(transcript.request_of(call.number)?);
        }
    }
    Ok(requests)
}

#[tokio::test]
async fn a_conversation_that_was_recorded_in_portions_is_told_at_the_call_it_was_recorded_for() -> anyhow::Result<()> {
    let model = FakeModel::script([tool_call("line", json!({})), text("The end.")]);
    let env = AgentEnvironment::builder().workflow::<Volumes>()?.model(&model).agents((reader,)).start().await?;
    let run = env.run(Volumes::run, ()).await?;
    assert!(run.activities().iter().any(|activity| activity.activity_type == "agents.record_items"));
    let transcript = Transcript::of_workflow(env.client(), &run.workflow_id, None).await?;
    let new: Vec<usize> = transcript.calls().iter().map(|call| call.new_input.len()).collect();
    assert_eq!((transcript.runs.len(), new), (1, vec![3, 0]));
    assert_eq!(requests(&[run.history]).await?, model.calls());
    env.finish().await?;
    Ok(())
}

#[tokio::test]
async fn a_conversation_that_was_loaded_from_the_execution_before_is_put_together() -> anyhow::Result<()> {
    let limits = Limits { new_events: 30, inline_bytes: 1_000, chunk_bytes: 1_200, ..Limits::default() };
    let finished = read(7, limits, Cache::On).await?;
    assert_eq!(finished.count("agents.load_state"), [0, 3, 5]);
    assert_eq!(requests(&finished.histories).await?, finished.calls);
    Ok(())
}

#[tokio::test]
async fn a_summary_is_told_after_the_turn_that_it_shortens() -> anyhow::Result<()> {
    let limits = Limits { new_events: 30, most_bytes: 6_000, ..Limits::default() };
    let finished = read_with(summarizing(7), limits, Some(Shortens::Summary(1_000)), Cache::On).await?;
    assert_eq!(requests(&finished.histories).await?, finished.calls);
    let transcript = Transcript::of_history(finished.histories[0].clone(), &DataConverter::default()).await?;
    let [run, summary] = &*transcript.runs else { panic!("{} runs", transcript.runs.len()) };
    assert_eq!((&summary.id, summary.parent.as_ref()), (&format!("{}-3-summary", run.id), Some(&run.id)));
    let page = transcript.to_markdown();
    let headings = page.lines().filter(|text| text.starts_with('#'));
    let headings: Vec<_> = headings.map(|text| text.replace(&run.id, "RUN")).collect();
    assert_eq!(
        headings[1..],
        [
            "## Run `RUN`",
            "### Turn 1 · reader",
            "### Turn 2 · reader",
            "### Turn 3 · reader",
            "#### Run `RUN-3-summary` of reader",
            "##### Turn 3 · reader",
            "## Continued as new"
        ]
    );
    Ok(())
}
