//! What a build decides while a history is replayed for a check, for the testing crate, which explains by it why a history does not replay.
//!
//! The journal travels as a value of the workflow's context, which only the replayer of a check sets. Without one, a note costs a look-up and
//! is never made. Notes tell what the run did; nothing here can change it.

use temporalio_workflow::WorkflowContextKey;

use super::context::DurableContext;
use crate::{
    agent::AgentDef,
    drive::{RunEvent, RunFailure},
    wire::run_state::InterruptionKind,
};

/// Takes the notes of the runs of one execution, in their order.
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
        /// The agent, and through it all others.
        agent: Box<AgentDef>,
    },
    /// A call is not made, or its output is not used.
    Refused {
        /// The agent that calls.
        agent: String,
        /// Its turn.
        turn: u32,
        /// The tool.
        tool: String,
        /// Why.
        reason: String,
    },
    /// The run waits for decisions.
    Paused {
        /// Agent and tool of each call that waits, and what it waits for.
        calls: Vec<(String, String, InterruptionKind)>,
    },
    /// The run has failed.
    Failed {
        /// The turns so far, where the run has a state.
        turn: Option<u32>,
        /// Why, as the run's error says it.
        error: String,
    },
}

impl ReplayJournal {
    /// A journal that passes each note on.
    pub fn new(takes: impl Fn(ReplayNote) + 'static) -> Self {
        Self(Box::new(takes))
    }
}

impl std::fmt::Debug for ReplayJournal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReplayJournal")
    }
}

/// Notes what `note` makes, where a check replays.
pub(super) fn note(ctx: &dyn DurableContext, note: impl FnOnce() -> ReplayNote) {
    if let Some(journal) = ctx.replay_journal() {
        let ReplayJournal(takes) = &*journal;
        takes(note());
    }
}

/// Notes what a run has told its observers, as far as a check asks for it.
pub(super) fn note_event(ctx: &dyn DurableContext, event: &RunEvent<'_>) {
    match event {
        RunEvent::CallRefused { call, reason } => note(ctx, || ReplayNote::Refused {
            agent: call.agent.clone(),
            turn: call.turn,
            tool: call.tool.clone(),
            reason: (*reason).to_owned(),
        }),
        RunEvent::Paused { interruptions } => note(ctx, || ReplayNote::Paused {
            calls: interruptions.iter().map(|call| (call.agent.clone(), call.tool.clone(), call.kind)).collect(),
        }),
        _ => {}
    }
}

/// Notes how a run has failed.
pub(super) fn note_failure(ctx: &dyn DurableContext, failure: &RunFailure) {
    note(ctx, || ReplayNote::Failed {
        turn: failure.state.as_ref().map(|state| state.turn),
        error: failure.error.to_string(),
    });
}
