//! Decisions that a build makes while a check replays a history. The testing crate uses them to
//! explain why a history does not replay.
//!
//! The journal travels as a value of the workflow's context, which only the replayer of a check
//! sets. Without a journal, a note costs a look-up and is never made. Notes report what the run
//! did; nothing here can change it.

use temporal_agents_core::{
    agent::AgentDef,
    drive::{LoopEvent, RunFailure},
    wire::run_state::InterruptionKind,
};
use temporalio_workflow::WorkflowContextKey;

use super::context::DurableContext;

/// Receives the notes of the runs of one execution, in their order.
pub struct ReplayJournal(Box<dyn Fn(ReplayNote)>);

/// The key of the journal in the workflow's context.
#[derive(Debug)]
pub struct ReplayJournalKey;

impl WorkflowContextKey for ReplayJournalKey {
    type Value = ReplayJournal;
}

/// One decision of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ReplayNote {
    /// A run begins or continues with this start agent.
    Began {
        /// The agent, and through it all agents that it reaches.
        agent: Box<AgentDef>,
    },
    /// A call is not made, or its output is not used.
    Refused {
        /// Name of the agent that makes the call.
        agent: String,
        /// The agent's turn.
        turn: u32,
        /// Name of the tool.
        tool: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// The run waits for decisions.
    Paused {
        /// Agent and tool of each call that waits, and the kind of its interruption.
        calls: Vec<(String, String, InterruptionKind)>,
    },
    /// The run has failed.
    Failed {
        /// Number of turns so far, if the run has a state.
        turn: Option<u32>,
        /// Message of the run's error.
        error: String,
    },
}

impl ReplayJournal {
    /// Creates a journal that passes each note to this function.
    pub fn new(takes: impl Fn(ReplayNote) + 'static) -> Self {
        Self(Box::new(takes))
    }
}

impl std::fmt::Debug for ReplayJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplayJournal")
    }
}

/// Adds the note that `note` returns, if a check replays the history.
pub(super) fn note(ctx: &dyn DurableContext, note: impl FnOnce() -> ReplayNote) {
    if let Some(journal) = ctx.replay_journal() {
        let ReplayJournal(takes) = &*journal;
        takes(note());
    }
}

/// Adds a note of an event of the run, if the event is of a kind that checks use.
pub(super) fn note_event(ctx: &dyn DurableContext, event: &LoopEvent<'_>) {
    match event {
        LoopEvent::CallRefused { call, reason } => note(ctx, || ReplayNote::Refused {
            agent: call.agent.clone(),
            turn: call.turn,
            tool: call.tool.clone(),
            reason: (*reason).to_owned(),
        }),
        LoopEvent::Paused { interruptions } => note(ctx, || ReplayNote::Paused {
            calls: interruptions.iter().map(|call| (call.agent.clone(), call.tool.clone(), call.kind)).collect(),
        }),
        _ => {}
    }
}

/// Adds a note of the failure of a run.
pub(super) fn note_failure(ctx: &dyn DurableContext, failure: &RunFailure) {
    note(ctx, || ReplayNote::Failed {
        turn: failure.state.as_ref().map(|state| state.turn),
        error: failure.error.to_string(),
    });
}
