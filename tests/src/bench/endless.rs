//! A run of many turns, over as many executions as necessary.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use serde::{Deserialize, Serialize};
use temporal_agents::{Runner, run::Compaction, wire::Carried};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{agents, spec::Spec};

/// The work of a run, and its state so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Endless {
    /// The work of the agent.
    pub spec: Spec,
    /// Size of the part of the conversation that the next execution receives, in bytes; all of it
    /// if `None`.
    pub newest_bytes: Option<usize>,
    /// The state of the run so far; `None` in the first execution.
    pub carried: Option<Carried>,
}

/// Runs an agent for many turns.
#[workflow]
#[derive(Debug, Default)]
pub struct EndlessBench;

#[workflow_methods]
impl EndlessBench {
    /// Returns the agent's final output.
    #[run(name = "endless_bench")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, work: Endless) -> WorkflowResult<String> {
        let Endless { spec, newest_bytes, carried } = work;
        let mut runner = Runner::new(ctx).unlimited_turns().continue_with(move |carried| Endless {
            spec,
            newest_bytes,
            carried: Some(carried),
        });
        if let Some(bytes) = newest_bytes {
            runner = runner.compaction(Compaction::keep_newest(bytes));
        }
        let agent = agents::tireless(&spec);
        let result = match carried {
            None => runner.run(&agent, spec.message()).await?,
            Some(carried) => runner.run(&agent, carried).await?,
        };
        Ok(result.final_output)
    }
}
