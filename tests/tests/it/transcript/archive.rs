//! An archive whose desk hands over to an archivist, who has tools of all kinds and a translator.

use serde_json::json;
use temporal_agents::{Agent, Runner, ToolError, tool};
use temporal_agents_testing::fake_model::{FakeModel, handoff, text, tool_call, tool_calls};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// Looks a book up.
#[tool]
async fn find_book(title: String) -> Result<String, ToolError> {
    match &*title {
        "atlas" => Ok("An atlas of 1680, in Latin. ".repeat(12)),
        _ => Err(ToolError::failed("the shelf is empty")),
    }
}

/// The years between two.
#[tool(inline)]
fn years(from: i64, to: i64) -> i64 {
    to - from
}

/// A word in French.
#[tool]
async fn glossary(word: String) -> String {
    format!("{word} (m.)")
}

pub(crate) fn desk() -> Agent {
    let translator =
        Agent::new("translator").model("gpt-5-mini").instructions("You translate to French.").tool(glossary);
    let translate = translator.as_tool().name("translate").description("Translates to French.");
    let archivist = Agent::new("archivist")
        .model("gpt-5")
        .instructions("You keep old books.\nYou are exact.")
        .tool(find_book)
        .tool(years)
        .tool(translate);
    Agent::new("desk").model("gpt-5").instructions("You sort requests.").handoff(archivist)
}

#[workflow]
#[derive(Default)]
pub(crate) struct Reading;

#[workflow_methods]
impl Reading {
    #[run(name = "reading")]
    pub(crate) async fn run(ctx: &mut WorkflowContext<Self>, question: String) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&desk(), question).await?.final_output)
    }
}

pub(crate) fn script() -> FakeModel {
    FakeModel::script([
        handoff("archivist"),
        tool_calls([
            ("find_book", json!({"title": "atlas"})),
            ("find_book", json!({"title": "globe"})),
            ("years", json!({"from": 1680, "to": 2026})),
            ("translate", json!({"input": "atlas"})),
        ]),
        tool_call("glossary", json!({"word": "atlas"})),
        text("Un atlas."),
        text("Yes, of 1680."),
    ])
}
