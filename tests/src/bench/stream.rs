//! A run of one turn, whose model streams its answer.

#![allow(missing_docs, missing_debug_implementations, reason = "#[workflow_methods] generates items without either")]

use std::time::Duration;

use serde::{Deserialize, Serialize};
use temporal_agents::{Agent, Runner, agent_handlers, workflow::AgentInbox};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{WorkflowContext, WorkflowResult};

use super::streaming_model::STREAMED;

/// One run: the only argument of the workflow and, as JSON, the user's message to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streamed {
    /// The pause before the first chunk, in milliseconds.
    pub first_pause_ms: u64,
    /// Number of chunks, which are the answer.
    pub chunks: u32,
    /// The pause before each other chunk, in milliseconds.
    pub pause_ms: u64,
}

impl Streamed {
    /// Returns the time in which the chunks are sent.
    pub fn duration(&self) -> Duration {
        Duration::from_millis(self.pause_ms * u64::from(self.chunks))
    }

    /// Returns the work as the user's message.
    ///
    /// # Panics
    /// Never: the work is JSON by construction.
    pub fn message(&self) -> String {
        serde_json::to_string(self).expect("the work is JSON by construction")
    }
}

/// Creates the agent whose model streams.
pub fn narrator() -> Agent {
    Agent::new("narrator").model(STREAMED).instructions("You answer briefly.")
}

/// Runs the agent. The inbox also hosts a stream, which transports may use.
#[workflow]
#[derive(Debug, Default)]
pub struct StreamBench {
    inbox: AgentInbox,
}

#[agent_handlers]
#[workflow_methods]
impl StreamBench {
    /// Returns the agent's final output.
    #[run(name = "stream_bench")]
    pub async fn run(ctx: &mut WorkflowContext<Self>, work: Streamed) -> WorkflowResult<String> {
        Ok(Runner::with_inbox(ctx).run(&narrator(), work.message()).await?.final_output)
    }
}
