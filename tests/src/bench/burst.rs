//! A run of two turns: many calls of the tool in one response, and the answer.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use serde::{Deserialize, Serialize};
use temporal_agents::Runner;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::agents;

/// One run: the only argument of the workflow and, as JSON, the user's message to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// Number of calls of the tool, in one response.
    pub calls: u32,
    /// Size of each result, in bytes.
    pub result_bytes: usize,
}

impl Burst {
    /// Returns the burst as the user's message.
    ///
    /// # Panics
    /// Never: a burst is JSON by construction.
    pub fn message(&self) -> String {
        serde_json::to_string(self).expect("a burst is JSON by construction")
    }
}

/// Runs an agent that makes many calls in one response.
#[workflow]
#[derive(Debug, Default)]
pub struct BurstBench;

#[workflow_methods]
impl BurstBench {
    /// Returns the agent's final output.
    #[run(name = "burst_bench")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, burst: Burst) -> WorkflowResult<String> {
        Ok(Runner::new(ctx).run(&agents::hurried(), burst.message()).await?.final_output)
    }
}
