//! A museum's curator writes a label and calls two translators like functions.
//!
//! Unlike with a handoff, the caller keeps the conversation: each call is a separate run, with its
//! own tools and its own turn limit, and only its answer is returned. Both calls of one response
//! run at the same time.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, Runner, ToolError, tool};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

/// The museum's own word for a term of art.
///
/// # Arguments
/// * `term` - an English term
/// * `language` - the language to translate it to
#[tool]
async fn glossary(term: String, language: String) -> Result<String, ToolError> {
    match (&*term, &*language) {
        ("tin glaze", "French") => Ok("glaçure stannifère".to_owned()),
        ("tin glaze", "German") => Ok("Zinnglasur".to_owned()),
        _ => Err(ToolError::tell_model("the glossary does not have it: use your own word")),
    }
}

fn translator(language: &str) -> Agent {
    Agent::new(format!("{language} translator"))
        .model("gpt-5-mini")
        .instructions(format!("You translate to {language}. Look terms of art up in the glossary."))
        .tool(glossary)
}

/// What hangs beside the exhibit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Label {
    pub english: String,
    pub french: String,
    pub german: String,
}

pub fn curator() -> Agent<Label> {
    let french = translator("French").as_tool().name("to_french").description("Translates a text to French.");
    let german = translator("German").as_tool().name("to_german").description("Translates a text to German.");
    Agent::new("curator")
        .model("gpt-5")
        .instructions("You write labels of one sentence, and have each translated to French and German.")
        .tool(french.max_turns(3))
        .tool(german.max_turns(3))
        .output::<Label>()
}

#[workflow]
#[derive(Debug, Default)]
pub struct Museum;

#[workflow_methods]
impl Museum {
    /// Labels an exhibit.
    #[run(name = "agents_as_tools")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, exhibit: String) -> WorkflowResult<Label> {
        Ok(Runner::new(ctx).run(&curator(), exhibit).await?.final_output)
    }
}
