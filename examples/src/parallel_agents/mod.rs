//! Three writers draft an answer to a complaint at the same time, and a judge picks the one that is sent.
//!
//! Runs are futures of the workflow, so `join_all` is sufficient. Each run has its own activities
//! and their attempts: a writer whose model call is retried neither delays nor repeats the others.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

pub mod model;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, RunFailed, Runner};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult, workflows::join_all};

/// The tones of the writers.
pub const TONES: [&str; 3] = ["warm", "brief", "formal"];

pub fn writer(tone: &str) -> Agent {
    Agent::new(format!("{tone} writer"))
        .model("gpt-5-mini")
        .instructions(format!("You answer complaints of hotel guests. Your tone is {tone}."))
}

/// What the judge says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The number of the best draft, counted from 1.
    pub best: usize,
    /// Why, in one sentence.
    pub reason: String,
}

pub fn judge() -> Agent<Verdict> {
    Agent::new("judge")
        .model("gpt-5")
        .instructions("You get a complaint and drafts of an answer. Pick the one that makes up for it best.")
        .output::<Verdict>()
}

/// The answer that is sent, with the judge's reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub text: String,
    pub tone: String,
    pub reason: String,
}

#[workflow]
#[derive(Debug, Default)]
pub struct GuestRelations;

#[workflow_methods]
impl GuestRelations {
    /// Answers a complaint.
    #[run(name = "parallel_agents")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, complaint: String) -> WorkflowResult<Answer> {
        let runner = Runner::new(ctx);
        let drafts = join_all(TONES.map(|tone| draft(&runner, tone, &complaint))).await;
        let drafts = drafts.into_iter().collect::<Result<Vec<_>, _>>()?;

        let mut question = vec![format!("Complaint: {complaint}")];
        question.extend((1..).zip(&drafts).map(|(number, text)| format!("Draft {number}: {text}")));
        let Verdict { best, reason } = runner.run(&judge(), question.join("\n\n")).await?.final_output;
        // The type requires a number, but not every number is that of a draft.
        let best = best.clamp(1, drafts.len()) - 1;
        Ok(Answer { text: drafts[best].clone(), tone: TONES[best].to_owned(), reason })
    }
}

async fn draft(runner: &Runner<GuestRelations>, tone: &str, complaint: &str) -> Result<String, RunFailed> {
    Ok(runner.run(&writer(tone), complaint).await?.final_output)
}
