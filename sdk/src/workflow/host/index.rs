//! The search attributes of a run, if its workflow has them (`wire/run_attributes.rs`).
//!
//! They are upserted when the run pauses, when it continues after that, and when it ends. The patch
//! is for workflows that a new client has started on workers of an earlier release.

use temporal_agents_core::{
    drive::{RunFailure, RunOutcome},
    engine::RunError,
    wire::{
        AgentInterruption, InterruptionKind,
        run_attributes::{NOBODY, agent_value},
    },
};

use super::WorkflowHost;
use crate::workflow::context::RunIndex;

/// The patch of executions whose search attributes follow their runs.
const RUN_INDEXED: &str = "temporal-agents/run-indexed";

impl WorkflowHost {
    /// Records that the run waits for answers to these questions.
    pub(super) fn index_pause(&self, agent: &str, questions: &[AgentInterruption]) {
        let of = |question: &AgentInterruption| match question.kind {
            InterruptionKind::Output => "client",
            InterruptionKind::Approval | InterruptionKind::Input | InterruptionKind::Other => "person",
        };
        let mut waits_for: Vec<&'static str> = questions.iter().map(of).collect();
        waits_for.sort_unstable();
        waits_for.dedup();
        self.index(Some(agent), "waiting", waits_for);
    }

    /// Records that the run continues after a pause.
    pub(super) fn index_resumed(&self, agent: &str) {
        self.index(Some(agent), "running", nobody());
    }

    /// Records the end of the run.
    pub(super) fn index_end<O>(&self, outcome: &Result<RunOutcome<O>, RunFailure>) {
        let (agent, status) = match outcome {
            Ok(RunOutcome::Finished(result)) => (Some(&*result.last_agent), "completed"),
            // The pause was recorded, and the next execution inherits what is.
            Ok(RunOutcome::Paused(_)) | Err(RunFailure { error: RunError::ContinuesAsNew { .. }, .. }) => return,
            Err(RunFailure { error: RunError::Cancelled { agent, .. }, .. }) => (Some(&**agent), "cancelled"),
            Err(failure) => (failure.state.as_ref().map(|state| &*state.agent), "failed"),
        };
        self.index(agent, status, nobody());
    }

    fn index(&self, agent: Option<&str>, status: &'static str, waits_for: Vec<&'static str>) {
        if self.ctx.has_run_attributes() && self.ctx.patched(RUN_INDEXED) {
            self.ctx.index(RunIndex { agent: agent.map(agent_value), status, waits_for });
        }
    }
}

/// Returns the value of a run that does not wait. A value is replaced and never unset: a server
/// refuses the empty payload by which the SDK unsets a list, and the workflow task fails.
fn nobody() -> Vec<&'static str> {
    vec![NOBODY]
}
