//! A run of two turns: many calls of the tool in one response, and the answer.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use serde::{Deserialize, Serialize};
use temporal_agents::Runner;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::agents;

/// One run; the only argument of the workflow, and, as JSON text, what the user says to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// How often the tool is called, in one response.
    pub calls: u32,
    /// The size of each result.
    pub result_bytes: usize,
}

impl Burst {
    /// The burst as the user's message.
    ///
    /// # Panics
    /// Never: a burst is JSON by construction.
    pub fn message(&self) -> String {
        serde_json::to_string(self).expect("a burst is JSON by construction")
    }
}

/// An agent with many calls at a time.
#[workflow]
#[derive(Debug, Default)]
pub struct BurstBench;

#[workflow_methods]
impl BurstBench {
    /// Answers with the final text.
    #[run(name = "burst_bench")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, burst: Burst) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&agents::hurried(), burst.message()).await?.final_output)
    }
}
