//! The watch of a workflow's runs: it sees what they do, and can change nothing.
//!
//! It also sees a replay, with [`Moment::is_replaying`], because it must know how a run has begun to
//! count its end.

use std::time::SystemTime;

use crate::wire::{Interruption, RunState, event::RunNote};

/// Sees what one run does, and the runs inside it.
pub trait RunWatch {
    /// Receives what a run does, at the time when it does it.
    fn see(&self, moment: Moment, seen: Seen<'_>);
}

/// The time of a workflow.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Start of the workflow task: the same on replay.
    pub now: SystemTime,
    /// `true` if the run repeats what it did before.
    pub is_replaying: bool,
}

/// A part of what runs do. `path` is the prefix of the effects of a run: empty for the outermost.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A step begins.
    Step {
        /// Prefix of the run's effects.
        path: &'a str,
        /// The state before the step.
        state: &'a RunState,
    },
    /// A model is called.
    ModelCalled {
        /// Prefix of the run's effects.
        path: &'a str,
    },
    /// Tools are called; a call that has waited for a decision is called again.
    ToolsCalled {
        /// Prefix of the run's effects.
        path: &'a str,
        /// The model's ids of the calls.
        call_ids: &'a [&'a str],
    },
    /// History receives content.
    Recorded {
        /// Size of the content as JSON.
        bytes: usize,
    },
    /// The run notes something.
    Noted {
        /// Prefix of the run's effects.
        path: &'a str,
        /// The note.
        note: &'a RunNote,
    },
    /// The run waits for decisions.
    Waits {
        /// The calls to decide.
        questions: &'a [Interruption],
    },
    /// The wait has ended.
    Waited {
        /// The state at its end.
        state: &'a RunState,
    },
    /// The run continues in another execution.
    Leaves,
}
