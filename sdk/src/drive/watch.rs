//! The watch of a workflow's runs: it sees what they do, and can change nothing.
//!
//! A worker that counts sets it as a value of the workflow's context; without one, nothing is
//! looked up but that. It sees a replay also, with [`Moment::is_replaying`], because it must know
//! how a run has begun to count its end.

use std::time::SystemTime;

use temporalio_workflow::WorkflowContextKey;

use crate::wire::{Interruption, RunState, event::RunNote};

/// The key of the watch in the workflow's context: a function that creates the watch of a run.
#[derive(Debug)]
pub(crate) struct RunWatchKey;

impl WorkflowContextKey for RunWatchKey {
    type Value = Box<dyn Fn() -> Box<dyn RunWatch>>;
}

/// Sees what one run does, and the runs inside it.
pub(crate) trait RunWatch {
    fn see(&self, moment: Moment, seen: Seen<'_>);
}

/// The time of a workflow.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "worker"), allow(dead_code, reason = "the worker half reads it"))]
pub(crate) struct Moment {
    /// Start of the workflow task: the same on replay.
    pub(crate) now: SystemTime,
    /// `true` if the run repeats what it did before.
    pub(crate) is_replaying: bool,
}

/// A part of what runs do. `path` is the prefix of the effects of a run: empty for the outermost.
#[derive(Debug)]
#[cfg_attr(not(feature = "worker"), allow(dead_code, reason = "the worker half reads it"))]
pub(crate) enum Seen<'a> {
    /// A step begins.
    Step { path: &'a str, state: &'a RunState },
    /// A model is called.
    ModelCalled { path: &'a str },
    /// Tools are called; a call that has waited for a decision is called again.
    ToolsCalled { path: &'a str, call_ids: &'a [&'a str] },
    /// History receives content of this size in bytes of JSON.
    Recorded { bytes: usize },
    /// The run notes something.
    Noted { path: &'a str, note: &'a RunNote },
    /// The run waits for these calls to be decided.
    Waits { questions: &'a [Interruption] },
    /// The wait has ended, in this state.
    Waited { state: &'a RunState },
    /// The run continues in another execution.
    Leaves,
}
