//! A run of many turns, over as many executions as it takes.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use serde::{Deserialize, Serialize};
use temporal_agents::{Runner, drive::Compaction, wire::Carried};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::{agents, spec::Spec};

/// What is to be done, and what was done of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Endless {
    /// What the agent does.
    pub spec: Spec,
    /// How much of the conversation the next execution takes over, in bytes; all of it where there is nothing.
    pub newest_bytes: Option<usize>,
    /// The run so far.
    pub carried: Option<Carried>,
}

/// An agent at work for long.
#[workflow]
#[derive(Debug, Default)]
pub struct EndlessBench;

#[workflow_methods]
impl EndlessBench {
    /// Answers with the final text.
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
            Some(carried) => runner.run_carried(&agent, carried).await?,
        };
        Ok(result.final_output)
    }
}
