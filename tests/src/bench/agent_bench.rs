//! The workflow that runs the agents.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use temporal_agents::Runner;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{agents, spec::Spec};

/// Runs an agent.
#[workflow]
#[derive(Debug, Default)]
pub struct AgentBench;

#[workflow_methods]
impl AgentBench {
    /// Returns the agent's final output.
    #[run(name = "agent_bench")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, spec: Spec) -> WorkflowResult<String> {
        let runner = Runner::new(ctx).unlimited_turns();
        Ok(runner.run(&agents::start(spec.kind), spec.message()).await?.final_output)
    }
}
